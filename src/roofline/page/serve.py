"""``roofline page --serve``: the page on this machine, with answers for any config.

Built on the standard library's HTTP server: one reader, two addresses, nothing to install.
What matters here is who may ask. It listens on the loopback only; a request must name this
server as its host (no other name that resolves here, so DNS rebinding fails) and, where it
changes or asks anything, come from this server's own page (so no other site can ask through
the reader's browser). Others who are logged in to this machine reach the loopback too: the
address that is printed holds a secret, and whoever has not opened it gets nothing. It reads no
file that a request names and writes none; with a model file to run in the page it also hands out
that file and its engine, from a fixed list of addresses. A request has half a minute, and so many
are answered at a time.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import InputError, RooflineError
from ..limits import POSTED_BYTES, REQUEST_SECONDS, SERVED_AT_A_TIME
from ..model.config import parse_json
from ..model.load import from_config
from .build import embedded
from .data import format_json, model_json
from .live import POLICY, LiveModel
from .predicted import Oracle

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Isolation from other origins: what threads in WebAssembly and exact clocks need.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    # The document's own policy says the rest; this one works only as a header.
    "Content-Security-Policy": "frame-ancestors 'none'",
}


def config_answer(text: bytes, oracle: Oracle | None = None) -> dict[str, Any]:
    """A model of a posted config, as the page takes it, with the formats that it names.

    Args:
        text: the config.
        oracle: learns of the model, so that it can be asked about it.

    Raises:
        InputError: it is not a config, or one that cannot be counted.
    """
    data = parse_json(text, "config", constants=True)
    name = data.get("_name_or_path") if isinstance(data, dict) else None
    known = isinstance(name, str) and name.strip()
    where = os.path.basename(str(name).rstrip("/"))[:60] if known else "config.json"
    read = from_config(data, where or "config.json")
    model = model_json(read)
    if oracle is not None:
        oracle.add(f"file-{where}", read)
    names = {model["dtype"], model["kv"], model["stored"]} - {None}
    return {
        "model": {**model, "id": f"file-{where}", "source": {"title": where}},
        "formats": {n: format_json(n) for n in sorted(names)},
    }


class Handler(BaseHTTPRequestHandler):
    """Answers ``GET /`` with the page, ``POST /api/model`` with a model and ``POST /api/predict``
    with a prediction."""

    server_version = "roofline"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 20
    server: PageServer

    def handle_one_request(self) -> None:
        """The next request of a connection, which has its own time."""
        self.server.begin(self.connection)
        super().handle_one_request()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """The page."""
        if not self._asked_here():
            return
        address, _, asked = self.path.partition("?")
        if address == "/" and hmac.compare_digest(asked.encode(), self.server.asked.encode()):
            self._let_in()
            return
        if not self._known():
            return
        if address == "/":
            self._send(200, self.server.page, "text/html; charset=utf-8")
        elif address in self.server.files:
            self._file(*self.server.files[address])
        else:
            self._refuse(404, "there is nothing at this address")

    def do_POST(self) -> None:
        """The model of a config, or a prediction."""
        if not (self._asked_here() and self._asked_by_us() and self._known()):
            return
        oracle = self.server.oracle
        if self.path != "/api/model" and (oracle is None or self.path != "/api/predict"):
            self._refuse(404, "there is nothing at this address")
            return
        body = self._body()
        if body is None:
            return
        try:
            if oracle is not None and self.path == "/api/predict":
                answer = oracle.answer(parse_json(body, "question"))
            else:
                answer = config_answer(body, oracle)
        except RooflineError as error:
            self._refuse(422, str(error))
        except Exception as error:
            # A fault of ours must not take the page down; it is named, not shown in full.
            self._refuse(500, f"roofline failed on this question ({type(error).__name__})")
        else:
            self._json(200, answer)

    def _asked_here(self) -> bool:
        if self.headers.get("Host") in self.server.names:
            return True
        self._refuse(421, "this server answers only under its own loopback address")
        return False

    def _asked_by_us(self) -> bool:
        origins = {f"http://{name}" for name in self.server.names}
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        if self.headers.get("Origin") in origins and site == "same-origin":
            return True
        self._refuse(403, "only this server's own page may ask")
        return False

    def _known(self) -> bool:
        # Whether the reader has opened the printed address: its cookie says so.
        given = self.headers.get("Cookie", "")
        for cookie in given.split(";"):
            if hmac.compare_digest(cookie.strip().encode(), self.server.cookie.encode()):
                return True
        self._refuse(403, "open the address that 'roofline page --serve' printed, key and all")
        return False

    def _let_in(self) -> None:
        # The key leaves the address bar; the cookie is read by no script and sent nowhere else.
        self.send_response(303)
        self.send_header("Location", "/")
        self.send_header("Set-Cookie", f"{self.server.cookie}; HttpOnly; SameSite=Strict; Path=/")
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _body(self) -> bytes | None:
        kind = self.headers.get("Content-Type", "").split(";")[0].strip().lower()
        length = self.headers.get("Content-Length", "")
        if kind != "application/json":
            self._refuse(415, "a config is sent as application/json")
        elif not length.isascii() or not length.isdigit():
            self._refuse(411, "the length of the config is missing")
        elif len(length) > 12 or int(length) > POSTED_BYTES:
            self._refuse(413, f"a config has at most {POSTED_BYTES >> 20} MiB")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                return body
            self.close_connection = True  # the reader left in the middle
        return None

    def _json(self, status: int, value: Any) -> None:
        self._send(status, embedded(value).encode(), "application/json")

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        self._json(status, {"error": why})

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self._head(status, len(body), kind, HEADERS)
        self.wfile.write(body)

    def _file(self, path: str, kind: str) -> None:
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                self.server.patient(self.connection)
                self._head(200, size, kind, {**HEADERS, "Content-Security-Policy": POLICY})
                shutil.copyfileobj(file, self.wfile, 1 << 20)
        except FileNotFoundError:
            self._refuse(410, "the file is no longer there")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the reader left, or stopped the download

    def _head(self, status: int, size: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


class PageServer(ThreadingHTTPServer):
    """The server, on the loopback."""

    daemon_threads = True

    def __init__(
        self, page: str, port: int = 0, file: LiveModel | None = None, oracle: Oracle | None = None
    ) -> None:
        """Bind to a port of the loopback, any free one where it is 0.

        Raises:
            InputError: the port cannot be had.
        """
        self.page = page.encode()
        self._began: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self.oracle = oracle
        self.files = file.addresses if file else {}
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"port {port} cannot be used ({reason}); try another") from None
        self.port = self.server_address[1]
        self.names = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        secret = secrets.token_urlsafe(24)
        self.asked, self.cookie = f"key={secret}", f"roofline-{self.port}={secret}"

    @property
    def origin(self) -> str:
        """The server without its secret."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """Where to point a browser: with the secret that lets it in."""
        return f"{self.origin}/?{self.asked}"

    def begin(self, connection: socket.socket) -> None:
        """A request begins to arrive."""
        with self._lock:
            self._began[connection] = time.monotonic()

    def patient(self, connection: socket.socket) -> None:
        """What is sent now takes its time."""
        with self._lock:
            self._began.pop(connection, None)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, unless too many are busy."""
        with self._lock:
            full = len(self._began) >= SERVED_AT_A_TIME
        if full:
            self.shutdown_request(request)
            return
        self.begin(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self.patient(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End what has taken too long."""
        now = time.monotonic()
        with self._lock:
            late = [c for c, since in self._began.items() if now - since > REQUEST_SECONDS]
            for connection in late:
                del self._began[connection]
        for connection in late:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that leaves in the middle is no news; a fault of ours is one line."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"roofline: a request failed ({type(error).__name__})", file=sys.stderr)


def serve(
    page: str,
    port: int = 0,
    *,
    open_browser: bool = False,
    file: LiveModel | None = None,
    oracle: Oracle | None = None,
) -> int:
    """Serve the page until interrupted."""
    with PageServer(page, port, file, oracle) as server:
        print(f"{server.address}  (for you on this machine only; Ctrl-C ends it)", flush=True)
        if open_browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return 0

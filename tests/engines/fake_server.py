"""A server of our own that misbehaves on demand, at any point of a stream.

It speaks just enough HTTP over a socket to send every byte when we want it: `Script` says what a
request gets, event by event.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

MODEL = "fake-model"


@dataclass
class Script:
    """What a completion request gets.

    Attributes:
        tokens: events with text; gap: seconds between them; first: seconds before the first.
        fault: what happens (see `faults`), and `at`: after how many events.
        usage, done: whether the usage event and the end mark are sent.
        per_event: tokens that usage counts for each event.
        cut: send the stream in pieces of so many bytes.
    """

    tokens: int = 32
    gap: float = 0.002
    first: float = 0.002
    fault: str | None = None
    at: int = 0
    usage: bool = True
    done: bool = True
    per_event: int = 1
    cut: int | None = None
    cached: int = 0
    refuse_extras: bool = False
    chat_only: bool = False
    body: bytes = b""


@dataclass
class FakeServer:
    """The server; a context manager. `script(request)` chooses what each request gets."""

    script: Callable[[dict[str, Any]], Script] = lambda request: Script()
    metrics: str | None = None
    models: Any = field(default_factory=lambda: {"data": [{"id": MODEL}]})
    models_status: int = 200
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)

    def __enter__(self) -> FakeServer:
        self._stop = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            threading.Thread(target=self._connection, args=(connection,), daemon=True).start()

    def _connection(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(10)
            reader = connection.makefile("rb")
            try:
                while not self._stop.is_set() and self._one(connection, reader):
                    pass
            except OSError:
                pass

    def _one(self, connection: socket.socket, reader: Any) -> bool:
        line = reader.readline()
        if not line:
            return False
        _, path, _ = line.decode().split(" ", 2)
        length, head = 0, line.decode()
        while (header := reader.readline().strip()) != b"":
            head += header.decode() + "\n"
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        self.headers.append(head)
        body = reader.read(length)
        if path == "/v1/models":
            return self._plain(connection, self.models_status, json.dumps(self.models).encode())
        if path == "/metrics":
            if self.metrics is None:
                return self._plain(connection, 404, b"none")
            return self._plain(connection, 200, self.metrics.encode())
        request = json.loads(body)
        self.requests.append(request | {"path": path})
        script = self.script(request)
        if script.chat_only and "chat" not in path:
            return self._plain(connection, 404, b"no such path")
        if script.refuse_extras and "ignore_eos" in request:
            return self._plain(connection, 400, b"unknown field ignore_eos")
        return self._stream(connection, script, "chat" in path)

    def _plain(self, connection: socket.socket, status: int, body: bytes) -> bool:
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        return True

    def _stream(self, connection: socket.socket, script: Script, chat: bool) -> bool:
        if script.fault == "status":
            return self._plain(connection, script.at or 500, script.body or b"it broke")
        if script.fault == "redirect":
            head = "HTTP/1.1 302 X\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(head.encode())
            return True
        if script.fault == "hang-before-headers":
            self._stop.wait(20)
            return False
        squeezed = b"Content-Encoding: gzip\r\n" if script.fault == "compressed" else b""
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n" + squeezed + b"\r\n"
        )
        try:
            for piece in self._pieces(script, chat):
                for part in _cut(piece, script.cut):
                    connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        except _Broken:
            return False
        connection.sendall(b"0\r\n\r\n")
        return True

    def _pieces(self, script: Script, chat: bool) -> Iterator[bytes]:
        time.sleep(script.first)
        for index in range(script.tokens):
            if script.fault and index == script.at:
                yield from self._misbehave(script)
            text = f" w{index}"
            choice: dict[str, Any] = {"index": 0, "finish_reason": None}
            choice |= {"delta": {"content": text}} if chat else {"text": text}
            yield _event({"choices": [choice]})
            time.sleep(script.gap)
        if script.fault and script.at >= script.tokens:
            yield from self._misbehave(script)
        if script.done:
            choice = {"index": 0, "finish_reason": "length"}
            choice |= {"delta": {}} if chat else {"text": ""}
            yield _event({"choices": [choice]})
        if script.usage:
            usage = {
                "prompt_tokens": 40,
                "completion_tokens": script.tokens * script.per_event,
                "prompt_tokens_details": {"cached_tokens": script.cached},
            }
            yield _event({"choices": [], "usage": usage})
        if script.done:
            yield b"data: [DONE]\n\n"

    def _misbehave(self, script: Script) -> Iterator[bytes]:
        fault = script.fault
        if fault == "hang":
            self._stop.wait(20)
            raise _Broken
        if fault == "disconnect":
            raise _Broken
        if fault == "end-early":
            script.tokens, script.usage, script.done = 0, False, False
            return
        while fault in ("keeps-alive", "empty-texts", "never-ends"):
            yield {
                "keeps-alive": b": ping\n\n",
                "empty-texts": _event({"choices": [{"text": ""}]}),
                "never-ends": _event({"choices": [{"text": "x"}]}),
            }[fault]
            if self._stop.wait(0.001):
                raise _Broken
        yield {
            "malformed": b"data: {not json\n\n",
            "no-object": b"data: [1, 2]\n\n",
            "bad-choices": b'data: {"choices": 7}\n\n',
            "bad-choice": b'data: {"choices": [7]}\n\n',
            "error": b'data: {"error": {"message": "out of memory"}}\n\n',
            "error-event": b"event: x\nerror: y\n\n",
            "binary": b"data: \xff\xfe\x00\n\n",
            "huge": b"data: " + b"x" * (3 << 20),
            "comment": b": keep-alive\n\nevent: ping\nid: 7\n\n",
            "empty-text": _event({"choices": [{"text": ""}]}),
            "compressed": b"",
            "said": b"data: " + script.body + b"\n\n",
        }[fault or ""]


class _Broken(Exception):
    pass


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _cut(piece: bytes, size: int | None) -> list[bytes]:
    if size is None:
        return [piece]
    return [piece[i : i + size] for i in range(0, len(piece), size)]

"""How a server is reached: its address, whose certificates are believed, and why it failed."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from ..errors import InputError
from .key import OURS

REASONS = {
    "ConnectTimeout": "no connection in time",
    "TimeoutException": "no answer in time",
    "TimeoutError": "no answer in time",
    "ConnectError": "no connection",
    "LocalProtocolError": "the request cannot be sent as it is",
    "RemoteProtocolError": "it closed the connection, or does not speak HTTP",
    "NetworkError": "the connection was lost",
    "StreamError": "the stream was lost",
}
"""httpx's errors, from the particular to the general, in our words."""


def trusted(base: str, environment: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Whose certificates are believed: those of SSL_CERT_FILE and SSL_CERT_DIR, where set, else
    those that httpx brings (``True``); over plain http nobody's.

    Raises:
        InputError: they name none.
    """
    if not base.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file, folder = (environment.get(n) for n in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    if not file and not folder:
        return True
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except (OSError, ssl.SSLError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        name = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
        raise InputError(f"{name} names no certificates: {file or folder}: {why}") from None


def address(url: str) -> str:
    """The address without path ``/v1``.

    Raises:
        InputError: it is no http address, or has a user name, a password or a query in it; what
            may be a key is not shown.
    """
    text = url.strip() if "//" in url else f"http://{url.strip()}"
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.username or parts.password or "@" in url:
        raise InputError(f"leave the key out of the address; put it into {OURS}")
    if parts.query or parts.fragment or "?" in url:
        raise InputError(f"leave what follows '?' out of the address; a key goes into {OURS}")
    if parts.scheme not in ("http", "https") or not parts.hostname or not _ascii(text):
        raise InputError(f"{url[:80]!r} is no address; give one such as http://127.0.0.1:8000")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{host}{port}{path}"


def _ascii(text: str) -> bool:
    return all("!" <= char <= "~" for char in text)


def reason(error: BaseException) -> str:
    """Why, in the system's words or ours: a library's may hold what was sent, or came."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {seen.verify_message}"
        if isinstance(seen, ssl.SSLError):
            return f"no TLS with it: {seen.reason or 'broken off'}"
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        seen = seen.__cause__ or seen.__context__
    for kind, said in REASONS.items():
        if kind in {base.__name__ for base in type(error).__mro__}:
            return said
    return type(error).__name__

"""A server that speaks OpenAI's streaming protocol, asked over HTTP.

Another host than this one is asked only because it was named. The key, if there is one, comes from
the environment, goes into one header, and is cut out of every message. Redirects are not followed
and proxies not used. Everything has its time; whatever goes wrong is a :class:`Fault` with a code.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..errors import InputError, MissingExtra, RooflineError
from . import prometheus
from .sse import Fault, Parser
from .waves import Stream

KEYS = ("ROOFLINE_API_KEY", "OPENAI_API_KEY")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait, in seconds: for the connection, the first token, the next one, a wave."""

    connect: float = 5.0
    first: float = 120.0
    between: float = 30.0
    wave: float = 600.0


class Server:
    """One server, and what has been learned of it.

    Args:
        url: its base, with or without ``/v1``.
        model: the name the server knows the model by, asked for where it is not given.
        limits: how long to wait.
        environment: where the key is; by default the process's own.

    Attributes:
        base: its address.
        model: what it calls the model.

    Raises:
        MissingExtra: httpx is not installed.
        InputError: the address is none.
        RooflineError: the server does not answer.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        limits: Limits | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtra("httpx", "endpoint", "asking a server") from None
        self.httpx: Any = httpx
        self.base = address(url)
        self.limits = limits or Limits()
        found = os.environ if environment is None else environment
        self._key = next((found[name] for name in KEYS if found.get(name)), None)
        self._extras = True  # fields that not every server takes: ignore_eos, stream_options
        self._chat = False
        self._metrics = True
        self.model = model or asyncio.run(self.ask_model())

    def error(self, text: str) -> RooflineError:
        """An error that names the server, without the key."""
        said = text.replace(self._key, "***") if self._key else text
        return RooflineError(f"{self.base}: {said}")

    # -- one request

    async def request(self, client: Any, text: str, output: int) -> Stream:
        """One streamed request.

        Raises:
            Fault: whatever went wrong, by its code.
        """
        httpx = self.httpx
        stream = Stream(time.perf_counter())
        try:
            async with client.stream(
                "POST", self._path(), json=self._body(text, output)
            ) as response:
                if response.status_code != 200:
                    await self._refused(response)
                await self._read(response, stream)
        except httpx.ConnectError as error:
            raise Fault("connect", f"cannot be reached ({_reason(error)})") from None
        except httpx.TimeoutException:
            what = "the first token" if not stream.events else "the next token"
            raise Fault("timeout", f"the server kept {what} waiting too long") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            after = sum(tokens for _, tokens in stream.events)
            raise Fault(
                "disconnect", f"the server broke off after {after:g} tokens ({_reason(error)})"
            ) from None
        if len(stream.events) < 2:
            raise Fault("empty", f"the server sent {len(stream.events)} events with text")
        return stream

    async def _refused(self, response: Any) -> None:
        """Raise for a status; from now on leave out what this server may not take."""
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > 2000:
                break
        code = response.status_code
        said = " ".join(body.decode(errors="replace").split())[:120]
        if code in (404, 405) and not self._chat:
            self._chat = True
        elif code in (400, 422) and self._extras:
            self._extras = False
        hint = f" (set {KEYS[0]})" if code in (401, 403) else ""
        raise Fault("status", f"the server answered {code}{hint}: {said or 'nothing'}")

    async def _read(self, response: Any, stream: Stream) -> None:
        parser, ended = Parser(), False
        async for data in self._pieces(response, stream):
            now = time.perf_counter()
            for chunk in parser.feed(data):
                ended = ended or chunk.done or chunk.finish is not None
                if chunk.text:
                    stream.events.append((now, 1.0))
                if chunk.prompt_tokens is not None:
                    stream.prompt = chunk.prompt_tokens
                if chunk.cached_tokens is not None:
                    stream.cached = chunk.cached_tokens
                if chunk.completion_tokens:
                    stream.completion = chunk.completion_tokens
                if chunk.finish:
                    stream.finish = chunk.finish
        if not ended:
            after = len(stream.events)
            raise Fault("disconnect", f"the server broke off after {after} events, without an end")

    async def _pieces(self, response: Any, stream: Stream) -> AsyncIterator[bytes]:
        """Bytes as they come; the first and the next ones each within their time."""
        pieces = response.aiter_bytes().__aiter__()
        while True:
            limit = self.limits.between if stream.events else self.limits.first
            try:
                async with asyncio.timeout(limit):
                    data = await anext(pieces, None)
            except TimeoutError:
                what = "the next token" if stream.events else "the first token"
                raise Fault("timeout", f"the server sent no {what[4:]} for {limit:g} s") from None
            if data is None:
                return
            yield data

    # -- what is sent

    def _path(self) -> str:
        return "/v1/chat/completions" if self._chat else "/v1/completions"

    def _body(self, text: str, output: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": output,
            "stream": True,
            "temperature": 0.0,
        }
        if self._chat:
            body["messages"] = [{"role": "user", "content": text}]
        else:
            body["prompt"] = text
        if self._extras:
            body["stream_options"] = {"include_usage": True}
            body["ignore_eos"] = True
            body["cache_prompt"] = False  # llama-server
        return body

    # -- what it is asked

    def client(self, connections: int) -> Any:
        """A client that keeps so many connections open; a context manager."""
        httpx = self.httpx
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # Longer than our own limits on a stream, which then speak first and say more.
        longest = 1.5 * max(self.limits.first, self.limits.between)
        return httpx.AsyncClient(
            base_url=self.base,
            headers=headers,
            timeout=httpx.Timeout(longest, connect=self.limits.connect),
            limits=httpx.Limits(
                max_connections=connections + 2, max_keepalive_connections=connections + 2
            ),
            follow_redirects=False,
            trust_env=False,
        )

    async def ask_model(self) -> str:
        """The first model that the server lists.

        Raises:
            RooflineError: it does not answer, or lists none.
        """
        try:
            async with self.client(1) as client, asyncio.timeout(self.limits.first):
                answer = await client.get("/v1/models")
                if answer.status_code != 200:
                    hint = f"; set {KEYS[0]}" if answer.status_code in (401, 403) else ""
                    raise RooflineError(
                        f"{self.base}: answered {answer.status_code} when asked for its "
                        f"models{hint}"
                    )
                listed = answer.json()["data"]
                name = listed[0]["id"]
                if not isinstance(name, str):
                    raise TypeError
                return name
        except (self.httpx.HTTPError, OSError, TimeoutError) as error:
            raise RooflineError(f"{self.base}: cannot be reached ({_reason(error)})") from None
        except (ValueError, KeyError, IndexError, TypeError):
            raise RooflineError(
                f"{self.base}: lists no model; name the one to ask for with --served-model"
            ) from None

    async def watch(self, client: Any) -> list[dict[str, float]]:
        """The server's own metrics, every half second until cancelled."""
        self.seen: list[dict[str, float]] = []
        while self._metrics:
            try:
                answer = await client.get("/metrics", timeout=2.0)
                found = prometheus.read(answer.text) if answer.status_code == 200 else {}
                if not found:
                    self._metrics = False
                    break
                self.seen.append(found)
            except (self.httpx.HTTPError, OSError, ValueError):
                self._metrics = False
                break
            await asyncio.sleep(0.5)
        return self.seen


def address(url: str) -> str:
    """The address without path ``/v1`` and without user names and passwords.

    Raises:
        InputError: it is no http address.
    """
    text = url if "//" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{url[:80]}' is no address; give one such as http://127.0.0.1:8000")
    if parts.username or parts.password:
        raise InputError(f"leave the key out of the address; put it into {KEYS[0]}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{host}{port}{path}"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())[:100]
    return text or type(error).__name__

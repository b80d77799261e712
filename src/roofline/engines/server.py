"""A server that speaks OpenAI's streaming protocol, asked over HTTP.

Another host than this one is asked only because it was named. The key, if there is one, goes into
one header, and is cut out of whatever the server says (:mod:`roofline.engines.key`). Redirects are
not followed and proxies not used. Everything has its time and its length, and arrives as it is:
compressed replies are refused. Whatever goes wrong is a :class:`Fault` with a code.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import MissingExtra, RooflineError
from ..limits import REPLY_BYTES
from . import prometheus
from .connection import address, reason, trusted
from .key import key_for, wanted
from .sse import Fault, Parser
from .waves import Stream

MOST_NAME = 200
"""Characters of a model's name as it is shown and kept."""


MORE, SPARE = 4, 64
"""A stream may send so many times the tokens asked for, and so many besides, before it is ended."""


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
        plain_key: whether the key may go over plain http to another machine.

    Attributes:
        base: its address.
        model: what it calls the model, as it is asked for.
        name: the same, as it may be shown and kept.

    Raises:
        MissingExtra: httpx is not installed.
        InputError: the address is none; a key that cannot be, or may not go there.
        RooflineError: the server does not answer.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        plain_key: bool = False,
    ) -> None:
        self.base = address(url)
        self._environment = os.environ if environment is None else environment
        self.key = key_for(self.base, self._environment, plain=plain_key)
        try:
            import httpx
        except ImportError:
            raise MissingExtra("httpx", "endpoint", "asking a server") from None
        self.httpx: Any = httpx
        self.limits = limits or Limits()
        self._extras = True  # fields that not every server takes: ignore_eos, stream_options
        self._chat = False
        self._metrics = True
        self._tls = trusted(self.base, self._environment)
        self.model = model.encode(errors="replace").decode() if model else ""
        self.model = self.model or asyncio.run(self.ask_model())
        self.name = self._shown(self.model, MOST_NAME)

    def error(self, text: str) -> RooflineError:
        """An error that names the server, without the key."""
        return RooflineError(self.key.hide(f"{self.base}: {text}"))

    def _shown(self, text: str, most: int) -> str:
        """What the server says, on one line, without the key, and then no longer than `most`."""
        text = self.key.hide(text)
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= most else f"{text[:most]}…"

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
                self._plain(response)
                await self._read(response, stream, output)
        except httpx.ConnectError as error:
            raise Fault("connect", f"cannot be reached ({reason(error)})") from None
        except httpx.TimeoutException:
            what = "the first token" if not stream.events else "the next token"
            raise Fault("timeout", f"the server kept {what} waiting too long") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            after = sum(tokens for _, tokens in stream.events)
            raise Fault(
                "disconnect", f"the server broke off after {after:g} tokens ({reason(error)})"
            ) from None
        if len(stream.events) < 2:
            raise Fault("empty", f"the server sent {len(stream.events)} events with text")
        return stream

    async def _refused(self, response: Any) -> None:
        """Raise for a status; from now on leave out what this server may not take."""
        body = b""
        self._plain(response)
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > 2000:
                break
        code = response.status_code
        said = self._shown(body[:4000].decode(errors="replace"), 120)
        if code in (404, 405) and not self._chat:
            self._chat = True
        elif code in (400, 422) and self._extras:
            self._extras = False
        hint = f" ({wanted(self._environment)})" if code in (401, 403) else ""
        raise Fault("status", f"the server answered {code}{hint}: {said or 'nothing'}")

    def _plain(self, response: Any) -> None:
        """Refuse a compressed reply, which may be a thousand times what comes over the line."""
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise Fault("malformed", "the server compressed its reply, which was not asked for")

    async def _read(self, response: Any, stream: Stream, output: int) -> None:
        parser, ended = Parser(self.key.hide), False
        async for data in self._pieces(response, stream):
            now = time.perf_counter()
            for chunk in parser.feed(data):
                ended = ended or chunk.done or chunk.finish is not None
                if chunk.text:
                    stream.events.append((now, 1.0))
                    if len(stream.events) > MORE * output + SPARE:
                        raise Fault("long", f"the server sends more than the {output} tokens "
                                    "that were asked for, without an end")  # fmt: skip
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
        """Bytes as they come; the first and the next token each within its time, whatever
        else comes meanwhile."""
        pieces = response.aiter_raw().__aiter__()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        seen = 0
        while True:
            if len(stream.events) > seen:
                seen, begun = len(stream.events), loop.time()
            limit = self.limits.between if stream.events else self.limits.first
            try:
                async with asyncio.timeout_at(begun + limit):
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
        headers = {"Accept-Encoding": "identity", **self.key.headers}
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
            verify=self._tls,
        )

    async def _get(self, client: Any, path: str, seconds: float) -> tuple[int, bytes]:
        """Status and body of a short reply, all of it within its time.

        Raises:
            TimeoutError: it took longer.
            ValueError: it is longer than `REPLY_BYTES`, or compressed.
        """
        async with asyncio.timeout(seconds), client.stream("GET", path) as answer:
            body = bytearray()
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ValueError("compressed")
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > REPLY_BYTES:
                    raise ValueError("too long")
            return answer.status_code, bytes(body)

    async def ask_model(self) -> str:
        """The first model that the server lists.

        Raises:
            RooflineError: it does not answer, or lists none.
        """
        try:
            async with self.client(1) as client:
                code, body = await self._get(client, "/v1/models", self.limits.first)
            if code != 200:
                hint = f"; {wanted(self._environment)}" if code in (401, 403) else ""
                raise self.error(f"answered {code} when asked for its models{hint}")
            name = json.loads(body)["data"][0]["id"]
            if not isinstance(name, str):
                raise TypeError
            name.encode()  # no lone surrogates: they could not be sent
            return name
        except (self.httpx.HTTPError, OSError, TimeoutError) as error:
            raise self.error(f"cannot be reached ({reason(error)})") from None
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise self.error(
                "lists no model; name the one to ask for with --served-model"
            ) from None

    async def watch(self, client: Any) -> list[dict[str, float]]:
        """The server's own metrics until cancelled: soon after the beginning, since a wave may be
        short, then ever more rarely, down to every half second."""
        self.seen: list[dict[str, float]] = []
        pause = 0.01
        while self._metrics:
            try:
                code, body = await self._get(client, "/metrics", 2.0)
                result = prometheus.read(body.decode(errors="replace")) if code == 200 else {}
                if not result:
                    self._metrics = False
                    break
                self.seen.append(result)
            except (self.httpx.HTTPError, OSError, ValueError):
                self._metrics = False
                break
            await asyncio.sleep(pause)
            pause = min(0.5, 1.6 * pause)
        return self.seen

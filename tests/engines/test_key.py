"""The key for a server: what is sent, to whom, and that nobody sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.cli import main
from roofline.engines import drive
from roofline.engines.base import Job
from roofline.engines.connection import address, reason, trusted
from roofline.engines.endpoint import Endpoint
from roofline.engines.key import Key, key_for, wanted
from roofline.engines.plan import Plan
from roofline.engines.server import Limits, Server
from roofline.errors import InputError, RooflineError
from roofline.points import PointsWriter

from .fake_server import FakeServer, Script

KEY = "sk-secret-never-shown-0123456789"
QUICK = Limits(connect=0.5, first=0.4, between=0.4, wave=3.0)
HTTPS = "https://inference.example.org"


def header(base: str, **environment: str) -> str | None:
    return key_for(base, environment).headers.get("Authorization")


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " ", "\t", "\u2028", "\ufeff", "\0", "  \r\n"])
@pytest.mark.parametrize("name", ["ROOFLINE_API_KEY", "OPENAI_API_KEY"])
def test_what_files_leave_around_a_key_is_not_sent(name: str, end: str) -> None:
    base = HTTPS if name.startswith("ROOF") else "https://api.openai.com"
    assert header(base, **{name: KEY + end}) == f"Bearer {KEY}"
    assert header(base, **{name: end + KEY}) == f"Bearer {KEY}"


@pytest.mark.parametrize("middle", ["\r\n", "\n", " ", "\x1b", "\x7f", "é", "密", "\udc80", "\0"])
def test_a_key_that_no_header_carries_names_its_variable_and_shows_nothing(middle: str) -> None:
    value = f"{KEY}{middle}{KEY}"
    with pytest.raises(InputError) as refused:
        header(HTTPS, ROOFLINE_API_KEY=value)
    said = str(refused.value)
    assert "ROOFLINE_API_KEY" in said
    assert "at place 33 of" in said
    assert said.isprintable()
    assert all(KEY[i : i + 6] not in said for i in range(len(KEY) - 6))


def test_a_key_of_spaces_is_none_and_one_without_end_is_refused() -> None:
    assert header(HTTPS, ROOFLINE_API_KEY=" \r\n") is None
    with pytest.raises(InputError, match="no key is that long"):
        header(HTTPS, ROOFLINE_API_KEY="k" * 100_000)


@pytest.mark.parametrize(
    ("base", "environment", "sent"),
    [
        (HTTPS, {}, False),
        ("https://api.openai.com", {}, True),
        ("https://eu.api.openai.com", {}, True),
        ("https://api.openai.com.evil.org", {}, False),
        ("https://evilapi.openai.com", {}, False),
        ("http://127.0.0.1:8000", {}, False),
        (HTTPS, {"OPENAI_BASE_URL": HTTPS + "/v1"}, True),
        (HTTPS, {"OPENAI_BASE_URL": HTTPS + ":443/v1"}, True),
        (HTTPS, {"OPENAI_BASE_URL": HTTPS + ":8443/v1"}, False),
        (HTTPS, {"OPENAI_BASE_URL": "http://inference.example.org"}, False),
        (HTTPS, {"OPENAI_BASE_URL": "nonsense"}, False),
        (HTTPS, {"OPENAI_BASE_URL": "https://[::1"}, False),
        (HTTPS, {"OPENAI_BASE_URL": "https://x:99999"}, False),
        ("http://localhost:8000", {"OPENAI_BASE_URL": "http://localhost:8000/v1"}, True),
    ],
)
def test_openais_key_goes_to_its_own_hosts_alone(
    base: str, environment: dict[str, str], sent: bool
) -> None:
    found = header(base, OPENAI_API_KEY=KEY, **environment)
    assert found == (f"Bearer {KEY}" if sent else None)
    assert ("OPENAI_BASE_URL" in wanted({"OPENAI_API_KEY": KEY, **environment})) is True


def test_the_key_made_for_us_goes_to_the_server_that_is_named_and_first() -> None:
    both = {"ROOFLINE_API_KEY": KEY, "OPENAI_API_KEY": "sk-other"}
    assert header(HTTPS, **both) == f"Bearer {KEY}"
    assert header("https://api.openai.com", **both) == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("base", "goes"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://127.8.9.1", True),
        ("http://localhost:8000", True),
        ("http://LOCALHOST.:8000", True),
        ("http://[::1]:8000", True),
        ("http://[::ffff:127.0.0.1]:8000", True),
        ("http://0.0.0.0:8000", True),
        ("http://10.0.0.5:8000", False),
        ("http://127.0.0.1.evil.org", False),
        ("http://localhost.evil.org", False),
        ("http://[2001:db8::1]:8000", False),
        ("http://gpu-box:8000", False),
        ("https://gpu-box:8000", True),
    ],
)
def test_no_key_over_plain_http_beyond_this_machine_unless_it_is_said(
    base: str, goes: bool
) -> None:
    environment = {"ROOFLINE_API_KEY": KEY}
    if goes:
        assert key_for(base, environment)
    else:
        with pytest.raises(InputError, match=r"ROOFLINE_API_KEY .*over plain http.*--plain-key"):
            key_for(base, environment)
        assert key_for(base, environment, plain=True)
    assert not key_for(base, {})
    assert not key_for(base, {"OPENAI_API_KEY": KEY})


def test_the_verb_refuses_before_it_asks_anyone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ROOFLINE_API_KEY", KEY)
    line = f"bench llama-3.2-1b --url http://192.0.2.1 --on a10 --points {tmp_path / 'p.jsonl'}"
    assert main(line.split()) == 2
    said = capsys.readouterr().err
    assert "over plain http" in said
    assert KEY not in said


@pytest.mark.parametrize(
    "echo",
    ["bad key {}", "{}{}{}", "{:.20}", "x" * 110 + "{}", "{}" * 200, "Bearer {}\r\n\r\n{}", "K={}"],
)
@pytest.mark.parametrize("way", ["status", "event", "models"])
def test_what_a_server_echoes_is_not_shown(way: str, echo: str) -> None:
    """However long it is: what is cut off is cut off after the key went."""
    said = echo.format(*[KEY] * 200).replace("K=", "K=" + KEY.upper())

    def script(request: dict[str, Any]) -> Script:
        return Script(fault="status", at=401, body=said.encode())

    def stream(request: dict[str, Any]) -> Script:
        return Script(fault="said", at=2, body=json.dumps({"error": {"message": said}}).encode())

    environment = {"ROOFLINE_API_KEY": KEY}
    with FakeServer(stream if way == "event" else script) as server:
        if way == "models":
            server.models = {"data": [{"id": said}]}
        client = Endpoint(server.url, output=8, limits=QUICK, environment=environment)
        kept = json.dumps(dict(client.setup.settings)) + client.setup.model
        with pytest.raises(RooflineError) as failed:
            client.measure(Job("decode", 1, 128), 0.05)
    shown = (str(failed.value) + kept).casefold()
    assert all(KEY[i : i + 8] not in shown for i in range(len(KEY) - 8))
    assert "***" in shown
    assert str(failed.value).isprintable()


def test_a_model_that_is_the_key_is_asked_for_and_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    with FakeServer(models={"data": [{"id": f"{KEY}\n\x1b[31m/model"}]}) as server:
        client = Endpoint(server.url, output=32, environment={"ROOFLINE_API_KEY": KEY})
        with PointsWriter(str(path)) as writer:
            drive.run(client, Plan((Job("decode", 1, 128),), (), 0.02), writer=writer)
        assert server.requests[-1]["model"].startswith(KEY)
    assert KEY not in path.read_text()
    assert "\\n" not in path.read_text()
    assert client.setup.model == "*** [31m/model"


def test_a_short_key_hides_itself_and_no_piece_of_other_words() -> None:
    assert Key("none").hide("none of nonesuch: 'none'") == "*** of nonesuch: '***'"
    assert Key("x").hide("x is x1") == "*** is x1"
    assert Key("").hide("as it is") == "as it is"
    assert KEY not in repr(Key(KEY))


def test_a_librarys_words_are_not_shown() -> None:
    import httpx

    for error in (
        httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}\\r'"),
        httpx.RemoteProtocolError(f"illegal header line: bytearray(b'X: {KEY}')"),
        httpx.ReadError(KEY),
        ValueError(KEY),
    ):
        assert KEY not in reason(error)
    caused = httpx.ConnectError("all attempts failed")
    caused.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert reason(caused) == "Connection refused"


@pytest.mark.parametrize(
    "url",
    [f"http://{KEY}@host", f"http://u:{KEY}@host", f"https://host/v1?key={KEY}", f"u:{KEY}@h",
     f"https//u:{KEY}@host", f"http://host/#{KEY}"],
)  # fmt: skip
def test_a_key_in_an_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InputError, match="ROOFLINE_API_KEY") as refused:
        address(url)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("url", ["http://a b", "http://host\x1b[2J", "http://hôte", "\n"])
def test_an_address_is_shown_as_it_is_written(url: str) -> None:
    with pytest.raises(InputError) as refused:
        address(url)
    assert str(refused.value).isprintable()


def test_certificates_are_those_of_the_environment(tmp_path: Path) -> None:
    assert trusted(HTTPS, {}) is True
    certifi = pytest.importorskip("certifi")
    assert trusted(HTTPS, {"SSL_CERT_FILE": certifi.where()}) is not True
    for text in (None, "no certificate"):
        path = tmp_path / "own.pem"
        if text:
            path.write_text(text)
        with pytest.raises(InputError, match="SSL_CERT_FILE names no certificates"):
            Server("https://127.0.0.1:9", "x", environment={"SSL_CERT_FILE": str(path)})

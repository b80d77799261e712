"""The live page: who may ask, and what is answered."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from roofline.errors import InputError
from roofline.model.load import load as load_model
from roofline.page.make import page as make_page
from roofline.page.serve import POSTED_BYTES, PageServer, config_answer

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000,
    "max_position_embeddings": 2048, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with PageServer(make_page(language="en", live=True)) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server, method="POST", path="/api/model", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    own = f"127.0.0.1:{server.port}"
    sent = {"Host": own, "Origin": f"http://{own}", "Content-Type": "application/json"}
    sent["Cookie"] = server.cookie
    sent |= {k.replace("_", "-"): v for k, v in headers.items()}
    data = json.dumps(LLAMA) if body is None and method == "POST" else body
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    if data is not None and "Content_Length" not in headers:
        connection.putheader("Content-Length", str(len(data)))
    connection.endheaders(data.encode() if isinstance(data, str) else data)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_the_page_and_its_headers(server):
    answer, text = ask(server, "GET", "/")
    assert answer.status == 200
    assert text.startswith("<!doctype html>")
    assert "connect-src &#x27;self&#x27;" in text
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "GET", "/etc/passwd")[0].status == 404
    assert ask(server, "GET", "/../../etc/passwd")[0].status == 404


def test_a_config_is_answered_as_the_core_counts_it(server, tmp_path):
    answer, text = ask(server)
    assert answer.status == 200
    model = json.loads(text)["model"]
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert model["parameters"] == load_model(str(tmp_path)).parameters


def test_only_the_loopback_and_only_its_own_names(server):
    assert server.server_address[0] == "127.0.0.1"
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", "", None):
        assert ask(server, Host=host)[0].status == 421
        assert ask(server, "GET", "/", Host=host)[0].status == 421
    assert ask(server, Host=f"localhost:{server.port}")[0].status == 200


def test_only_its_own_page_may_ask(server):
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}", None):
        assert ask(server, Origin=origin)[0].status == 403
    assert ask(server, Sec_Fetch_Site="cross-site")[0].status == 403
    assert ask(server, Sec_Fetch_Site="same-origin")[0].status == 200
    assert ask(server, Content_Type="text/plain")[0].status == 415
    assert ask(server, Content_Type="application/x-www-form-urlencoded")[0].status == 415


@pytest.mark.parametrize(
    "body",
    [
        "", "[]", "null", "{", "[" * 50_000, '{"a":' * 9_000, '{"model_type": 7}', "NaN",
        '{"model_type": "<script>alert(1)</script>"}',
        json.dumps({**LLAMA, "hidden_size": 10**400}),
        json.dumps({**LLAMA, "num_hidden_layers": -1}),
        json.dumps({**LLAMA, "_name_or_path": "../../../etc/passwd", "vocab_size": None}),
    ],
)  # fmt: skip
def test_bad_configs_are_refused_with_a_sentence(server, body):
    answer, text = ask(server, body=body)
    assert answer.status == 422
    assert "<" not in text
    assert json.loads(text)["error"]
    assert "Traceback" not in text


def test_lengths(server):
    assert ask(server, Content_Length=str(POSTED_BYTES + 1))[0].status == 413
    assert ask(server, Content_Length="-5")[0].status == 411
    assert ask(server, Content_Length="many")[0].status == 411
    assert ask(server, Content_Length="9" * 5000)[0].status == 413


def test_only_who_opened_the_printed_address_gets_anything(server):
    for cookie in (None, "", "roofline=1", server.cookie[:-1], server.cookie.replace("=", "=x")):
        assert ask(server, "GET", "/", Cookie=cookie)[0].status == 403
        assert ask(server, Cookie=cookie)[0].status == 403
    assert ask(server, "GET", "/?key=guess", Cookie=None)[0].status == 403
    path = server.address.removeprefix(server.origin)
    answer, text = ask(server, "GET", path, Cookie=None)
    assert (answer.status, answer.headers["Location"], text) == (303, "/", "")
    given = answer.headers["Set-Cookie"]
    assert given.startswith(server.cookie) and "HttpOnly" in given and "SameSite=Strict" in given
    assert ask(server, "GET", "/", Cookie=f"other=1; {server.cookie}")[0].status == 200
    with PageServer("") as other:
        assert other.cookie.partition("=")[2] != server.cookie.partition("=")[2]


def test_a_request_that_drips_ends(server, monkeypatch):
    monkeypatch.setattr("roofline.page.serve.REQUEST_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one:
        one.sendall(b"POST /api/model HTTP/1.1\r\nX: ")
        start = time.monotonic()
        while time.monotonic() - start < 10:
            try:
                one.sendall(b"a")
                one.settimeout(0.05)
                if one.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - start < 10
    monkeypatch.undo()
    assert ask(server)[0].status == 200


def test_more_connections_than_are_answered_end_at_once(server, monkeypatch):
    monkeypatch.setattr("roofline.page.serve.SERVED_AT_A_TIME", 2)
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(2)]
    try:
        for one in held:
            one.sendall(b"GET / HTTP/1.1\r\n")
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as third:
            assert third.recv(1) == b""
    finally:
        for one in held:
            one.close()
    monkeypatch.undo()
    assert ask(server)[0].status == 200


def test_readers_that_leave_are_no_news(server, capfd):
    own = f"Host: 127.0.0.1:{server.port}\r\nOrigin: http://127.0.0.1:{server.port}\r\n"
    own += f"Cookie: {server.cookie}\r\nContent-Type: application/json\r\n"
    for rest in ("Content-Length: 400\r\n\r\n{", "Content-Le", "Content-Length: 2\r\n\r\n{}"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one:
            one.sendall(f"POST /api/model HTTP/1.1\r\n{own}{rest}".encode())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    assert ask(server)[0].status == 200
    assert capfd.readouterr().err == ""


def test_a_port_in_use_is_said(server):
    with pytest.raises(InputError, match="cannot be used"):
        PageServer("", server.port)
    with pytest.raises(InputError):
        PageServer("", 99999)


def test_names_from_a_config_are_short_and_no_path():
    answer = config_answer(
        json.dumps({**LLAMA, "_name_or_path": "/home/me/models/My-8B/"}).encode()
    )
    assert answer["model"]["name"] == "My-8B"
    assert "/home" not in json.dumps(answer)


def test_pasting_and_dropping_a_config_in_the_live_page(browser, server):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.address)
    page.wait_for_selector("html.ready")
    page.fill("#config", json.dumps({**LLAMA, "_name_or_path": "org/Tiny"}))
    page.click("text=Evaluate")
    page.locator(".title:has-text('Tiny')").wait_for()
    assert page.inner_text(".message") == "Tiny added."
    bad = json.dumps({**LLAMA, "model_type": "no_such_model"}).encode()
    page.set_input_files("#file", {"name": "c.json", "mimeType": "", "buffer": bad})
    page.locator(".message:has-text('not counted')").wait_for()
    page.close()
    # Chromium itself notes the refused request; the page says nothing.
    assert [text for text in said if "422" not in text] == []


def test_a_config_on_a_page_without_a_server(visit):
    with visit() as page:
        config = {"name": "config.json", "mimeType": "", "buffer": json.dumps(LLAMA).encode()}
        page.set_input_files("#file", config)
        page.locator(".message:has-text('--serve')").wait_for()

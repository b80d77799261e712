"""Where the engine and the demo's model come from; what the server hands out for them."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import stat
import tarfile

import pytest

from page.live.pages import serving, tiny
from roofline import cli
from roofline.errors import InputError, MissingExtra, RooflineError
from roofline.files import demo
from roofline.page import engine, live, serve

CONTENT = {"esm/index.js": b"export class Wllama {}", "esm/wasm/wllama.wasm": b"\0asm" * 9}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with contents that are known, and an empty data folder."""
    monkeypatch.setenv("ROOFLINE_DATA", str(tmp_path / "data"))
    known = {
        name: (inside, hashlib.sha256(CONTENT[inside]).hexdigest())
        for name, (inside, _) in engine.FILES.items()
    }
    monkeypatch.setattr(engine, "FILES", known)
    return tmp_path


def folder(where, content=CONTENT):
    for inside, data in content.items():
        path = where / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(where)


def archive(path, content=CONTENT):
    with tarfile.open(path, "w:gz") as tar:
        for inside, data in content.items():
            info = tarfile.TarInfo(f"package/{inside}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return str(path)


def test_missing_engine_says_how_to_get_it(package):
    with pytest.raises(InputError, match="--wllama npm") as caught:
        engine.engine()
    assert engine.VERSION in str(caught.value)


def test_engine_from_a_folder_or_archive_is_kept(package):
    for source in (folder(package / "f"), archive(package / "a.tgz")):
        found = engine.engine(source)
        for name, (inside, _) in engine.FILES.items():
            with open(found.path(name), "rb") as file:
                assert file.read() == CONTENT[inside]
        assert engine.engine() == found  # from now on without saying where


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: {**c, "esm/index.js": b"export class Wllama { /* other */ }"},
        lambda c: {"esm/index.js": c["esm/index.js"]},
        lambda c: {},
    ],
)
def test_another_engine_is_refused_and_nothing_is_left(package, spoil):
    content = spoil(CONTENT)
    (package / "f").mkdir()
    for source in (folder(package / "f", content), archive(package / "a.tgz", content)):
        with pytest.raises(InputError):
            engine.engine(source)
    assert not os.path.exists(engine.home())
    assert os.listdir(os.path.dirname(engine.home())) == []


@pytest.mark.parametrize("data", [b"", b"no archive", b"\x1f\x8b\x08\x00broken"])
def test_a_file_that_is_no_package(package, data):
    (package / "x.tgz").write_bytes(data)
    with pytest.raises(InputError, match="not the package"):
        engine.engine(str(package / "x.tgz"))


def test_a_changed_engine_is_not_used(package):
    found = engine.engine(folder(package / "f"))
    with open(found.path("wllama.js"), "ab") as file:
        file.write(b"// more")
    with pytest.raises(InputError, match="not here yet"):
        engine.engine()


def fake_npm(where, body, monkeypatch):
    where.mkdir()
    script = where / "npm"
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{where}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for npm")
def test_npm_fetches_it_once(package, monkeypatch):
    tgz = archive(package / "real.tgz")
    log = package / "log"
    fake_npm(package / "bin", f'echo "$@" >> {log}; cp {tgz} "$5/wllama.tgz"', monkeypatch)
    found = engine.engine("npm")
    assert engine.engine("npm") == found
    (line,) = log.read_text().splitlines()
    assert line.startswith(f"pack {engine.NAME}@{engine.VERSION} ")


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for npm")
def test_npm_that_fails(package, monkeypatch):
    fake_npm(package / "bin", 'echo "no network" >&2; exit 1', monkeypatch)
    with pytest.raises(RooflineError, match="no network"):
        engine.engine("npm")
    assert not os.path.exists(engine.home())


def test_no_npm_at_all(package, monkeypatch):
    monkeypatch.setattr(engine.shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingExtra, match=r"pip install 'roofline\[demo\]'"):
        engine.engine("npm")


def test_demo_model_is_joined_and_checked(package, monkeypatch):
    parts = [b"GGUF", b"one", b"two"]
    monkeypatch.setattr(demo, "blocks", lambda: iter(parts))
    with pytest.raises(RooflineError, match="do not make the file"):
        demo.demo()
    models = package / "data" / "models"
    assert list(models.iterdir()) == []
    whole = b"".join(parts)
    monkeypatch.setattr(demo, "SHA256", hashlib.sha256(whole).hexdigest())
    monkeypatch.setattr(demo, "SIZE", len(whole))
    path = demo.demo()
    with open(path, "rb") as file:
        assert file.read() == whole
    monkeypatch.setattr(demo, "blocks", lambda: pytest.fail("joined twice"))
    assert demo.demo() == path


def test_demo_model_missing(package, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="Gemma terms"):
        demo.demo()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--live", "nowhere.gguf", "--serve"], "no such file"),
        (["--live", "."], "--serve"),
        (["--live", ".", "--serve"], "one GGUF file"),
        (["--wllama", "npm", "--serve"], "--live"),
        (["--wllama", "npm"], "--serve"),
    ],
)
def test_wrong_questions(package, arguments, what, capsys):
    assert cli.main(["page", *arguments]) == 2
    assert what in capsys.readouterr().err


def test_server_hands_out_the_listed_files_and_no_others(package):
    found = engine.engine(folder(package / "f"))
    model = package / "model.gguf"
    model.write_bytes(b"GGUF" * 1000)
    (package / "secret").write_bytes(b"secret")
    file = live.LiveModel(str(model), tiny(), found)
    with serving(serve.PageServer("<!doctype html>", 0, file)) as server:

        def get(address, host=None):
            sent = {"Cookie": server.cookie}
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
            connection.request("GET", address, headers=sent | ({"Host": host} if host else {}))
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            return answer.status, dict(answer.getheaders()), body

        status, headers, body = get("/live/model.gguf")
        assert (status, body) == (200, model.read_bytes())
        assert headers["Content-Length"] == str(len(body))
        for name in ("Opener", "Embedder"):
            assert headers[f"Cross-Origin-{name}-Policy"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        status, headers, body = get("/live/engine.js")
        assert status == 200 and b"wllama" in body
        assert headers["Content-Security-Policy"] == live.POLICY
        assert headers["Content-Type"].startswith("text/javascript")
        assert get("/live/wllama.wasm")[2] == CONTENT["esm/wasm/wllama.wasm"]
        for address in (
            "/live/", "/live/secret", "/live/../secret", "/live/%2e%2e/secret", "/secret",
            "/live/panel.js", "/live/model.gguf/",
        ):  # fmt: skip
            assert get(address)[0] == 404, address
        assert get("/live/model.gguf", host="evil.example")[0] == 421
        model.unlink()
        assert get("/live/model.gguf")[0] == 410


def test_a_page_without_a_file_hands_out_none():
    with serve.PageServer("<!doctype html>", 0) as server:
        assert server.files == {}

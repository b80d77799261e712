"""From a name to a file: catalogue, path, Hugging Face cache, Ollama's store, the hub."""

import http.server
import json
import os
import subprocess
import sys
import threading
from typing import ClassVar

import pytest

from roofline.errors import InputError, NotFound, UnsupportedError
from roofline.files import hub, ollama
from roofline.model.load import load

from . import ggufs
from .checkpoints import LLAMA, folder, llama

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    path = tmp_path / "hub"
    path.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(path))
    return path


def snapshot(cache, repo="acme/tiny", commit=COMMIT, branch="main", config=LLAMA):
    """A repository as huggingface_hub lays it out: blobs, and links to them."""
    root = cache / ("models--" + repo.replace("/", "--"))
    here = root / "snapshots" / commit
    here.mkdir(parents=True)
    (root / "blobs").mkdir(exist_ok=True)
    blob = root / "blobs" / f"blob-{commit[:6]}"
    blob.write_text(json.dumps(config))
    (here / "config.json").symlink_to(blob)
    if branch:
        (root / "refs").mkdir(exist_ok=True)
        (root / "refs" / branch).write_text(commit)
    return here


def test_cached_name(cache):
    here = snapshot(cache)
    model = load("acme/tiny")
    assert (model.name, model.hidden) == ("tiny", 256)
    assert str(here) in model.source


def test_cached_weights_are_held_against_the_config(cache):
    here = snapshot(cache)
    folder(str(cache / "files"), LLAMA, llama("F32"))
    (here / "model.safetensors").symlink_to(cache / "files" / "model.safetensors")
    assert "fp32" in load("acme/tiny").notes[0]


def test_cached_revisions(cache):
    other = "f" * 40
    snapshot(cache)
    snapshot(cache, commit=other, branch="v2", config={**LLAMA, "num_hidden_layers": 5})
    assert load("acme/tiny").depth == 2
    assert load("acme/tiny@v2").depth == 5
    assert load(f"acme/tiny@{other}").depth == 5
    with pytest.raises(NotFound):
        load("acme/tiny@v3")


def test_a_snapshot_without_a_branch(cache):
    snapshot(cache, branch=None)
    assert load("acme/tiny").depth == 2


def test_a_branch_that_is_no_commit(cache):
    snapshot(cache)
    (cache / "models--acme--tiny" / "refs" / "main").write_text("../../../etc")
    with pytest.raises(InputError, match="not the number of a commit"):
        load("acme/tiny")


def test_links_in_a_circle(cache):
    here = snapshot(cache)
    (here / "config.json").unlink()
    (here / "config.json").symlink_to(here / "config.json")
    with pytest.raises(NotFound):
        load("acme/tiny")


@pytest.mark.parametrize("name", ["a/../b", "../b", "a/b/c", "a--b/c", "a/b@../c", "-a/b", "a/"])
def test_names_that_are_none(name):
    assert hub.parse(name) is None


def test_the_message_says_what_was_tried(cache):
    with pytest.raises(NotFound) as raised:
        load("acme/none")
    text = str(raised.value)
    for place in ("the catalogue", "local paths", str(cache), "Ollama's store", "HF_HUB_OFFLINE"):
        assert place in text


def test_the_catalogue_comes_first_and_paths_before_the_cache(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder("llama-3.1-8b", LLAMA, llama())
    assert load("llama-3.1-8b").parameters == 8_030_261_248
    assert load("./llama-3.1-8b").hidden == 256
    snapshot(cache, config={**LLAMA, "num_hidden_layers": 7})
    assert load("acme/tiny").depth == 7
    folder("acme/tiny", LLAMA, llama())
    assert load("acme/tiny").depth == 2


def test_where_the_cache_is(monkeypatch):
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/u")
    assert hub.caches() == ("/home/u/.cache/huggingface/hub",)
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert hub.caches() == ("/c/huggingface/hub",)
    monkeypatch.setenv("HF_HOME", "/h")
    assert hub.caches() == ("/h/hub",)
    library = pytest.importorskip("huggingface_hub")
    code = "from huggingface_hub.constants import HF_HUB_CACHE as c; print(c)"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ}, capture_output=True, text=True, check=True
    )
    assert hub.caches() == (found.stdout.strip(),), library.__version__


# --- paths -------------------------------------------------------------------------------


def test_gguf_by_path_folder_and_without_an_ending(tmp_path):
    path = str(tmp_path / "Tiny.gguf")
    ggufs.write(path, ggufs.LLAMA, ggufs.llama())
    assert load(path).name == "Tiny"
    assert load(str(tmp_path)).hidden == 512
    os.rename(path, str(tmp_path / "blob"))
    assert load(str(tmp_path / "blob")).hidden == 512


def test_folders_that_hold_no_model_or_several(tmp_path):
    with pytest.raises(NotFound, match=r"without a config\.json"):
        load(str(tmp_path))
    for name in ("a.gguf", "b.gguf", "mmproj-a.gguf"):
        ggufs.write(str(tmp_path / name), ggufs.LLAMA, ggufs.llama())
    with pytest.raises(InputError, match=r"several GGUF files \(a\.gguf, b\.gguf\)"):
        load(str(tmp_path))


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"\x80\x02ck" + bytes(99))
    with pytest.raises(InputError, match=r"not a config\.json"):
        load(str(path))
    with pytest.raises(NotFound, match="no such file"):
        load("./none.gguf")


def test_a_safetensors_file_stands_for_its_folder(tmp_path):
    folder(str(tmp_path / "m"), LLAMA, llama())
    assert load(str(tmp_path / "m" / "model.safetensors")).hidden == 256
    os.remove(tmp_path / "m" / "config.json")
    with pytest.raises(NotFound, match=r"no config\.json beside it"):
        load(str(tmp_path / "m" / "model.safetensors"))


# --- Ollama ------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "models"
    monkeypatch.setenv("OLLAMA_MODELS", str(path))
    (path / "blobs").mkdir(parents=True)
    return path


def manifest(store, *name, digest="a" * 64, media="application/vnd.ollama.image.model"):
    path = store.joinpath("manifests", *name)
    path.parent.mkdir(parents=True, exist_ok=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "b" * 64},
        {"mediaType": media, "digest": f"sha256:{digest}", "size": 1},
    ]
    path.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return path


def test_ollama_names(store):
    ggufs.write(str(store / "blobs" / ("sha256-" + "a" * 64)), ggufs.LLAMA, ggufs.llama())
    manifest(store, "registry.ollama.ai", "library", "tiny", "latest")
    manifest(store, "registry.ollama.ai", "library", "tiny", "0.5b")
    manifest(store, "hf.co", "acme", "tiny-GGUF", "Q4_K_M")
    for name in ("tiny:0.5b", "tiny:latest", "ollama:tiny", "hf.co/acme/tiny-GGUF:Q4_K_M"):
        model = load(name)
        assert (model.hidden, model.name) == (512, name)


def test_ollama_faults(store):
    path = manifest(store, "registry.ollama.ai", "library", "tiny", "latest")
    with pytest.raises(NotFound, match="is not in the store"):
        ollama.find("tiny")
    manifest(store, "registry.ollama.ai", "library", "tiny", "latest", digest="../../../etc")
    with pytest.raises(InputError, match="digest"):
        ollama.find("tiny")
    manifest(store, "registry.ollama.ai", "library", "tiny", "latest", media="x/tensor")
    with pytest.raises(UnsupportedError, match="no layer is a GGUF"):
        ollama.find("tiny")
    path.write_text("[]")
    with pytest.raises(InputError, match="list of layers"):
        ollama.find("tiny")
    path.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        ollama.find("tiny")
    assert ollama.find("none") is None
    assert ollama.parse("../../etc/passwd:x") is None


# --- the hub -----------------------------------------------------------------------------


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as serves small files, with one gated repository."""

    config = json.dumps(LLAMA).encode()
    asked: ClassVar[list[tuple[str, str]]] = []

    def answer(self):
        Hub.asked.append((self.path, self.headers.get("authorization", "")))
        body = self.config
        if self.path.startswith("/gated/"):
            return self.reply(401, b"", {"x-error-code": "GatedRepo"})
        if self.path.startswith("/none/"):
            return self.reply(404, b"", {"x-error-code": "RepoNotFound"})
        if not self.path.endswith("/acme/tiny/resolve/main/config.json"):
            return self.reply(404, b"", {"x-error-code": "EntryNotFound"})
        return self.reply(200, body, {"x-repo-commit": COMMIT, "etag": '"abc"'})

    def reply(self, code, body, headers):
        self.send_response(code)
        for key, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET = answer

    def log_message(self, *args):
        pass


@pytest.fixture
def online(cache, monkeypatch):
    pytest.importorskip("huggingface_hub")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Hub.asked = []
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecret")
    yield server
    server.shutdown()
    server.server_close()


def test_fetched_once_then_from_the_cache(online, cache, monkeypatch):
    assert load("acme/tiny").hidden == 256
    assert {p.rsplit("/", 1)[-1] for p, _ in Hub.asked} == set(hub.FETCHED)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    asked = len(Hub.asked)
    assert load("acme/tiny").hidden == 256
    assert len(Hub.asked) == asked


@pytest.mark.parametrize(
    ("name", "says"), [("gated/tiny", "gated"), ("none/tiny", "no such model"),
                       ("acme/other", r"no config\.json")],
)  # fmt: skip
def test_what_the_hub_refuses(online, name, says):
    with pytest.raises(InputError, match=says) as raised:
        load(name)
    assert "hf_secret" not in str(raised.value)


def test_a_hub_that_is_not_there(online, monkeypatch):
    from roofline.errors import RooflineError

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(RooflineError, match="cannot be reached") as raised:
        load("acme/tiny")
    assert "hf_secret" not in str(raised.value)


def test_without_the_library(cache, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(NotFound, match=r"pip install 'roofline\[hub\]'"):
        load("acme/tiny")

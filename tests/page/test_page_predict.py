"""Predictions on the page: the core's own numbers, in a file at stops, from a server for all."""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

import pytest

from page.conftest import Quiet
from page.files import read
from page.test_page_core import READ
from page.waits import addressed, go
from roofline import predict
from roofline.bound.case import Case
from roofline.count.step import Step
from roofline.errors import InputError, NotFound
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.page.bundle import bundle
from roofline.page.data import page_data
from roofline.page.make import oracle as make_oracle
from roofline.page.make import page as make_page
from roofline.page.predicted import BATCHES, TOKENS, grids
from roofline.page.serve import PageServer
from roofline.parallel import Parallel

pytest.importorskip("numpy")

MODEL, MACHINE = "llama-3.1-8b", "h100-sxm"


def step_of(asked: dict[str, Any]) -> Step:
    if asked["phase"] == "prefill":
        return Step.prefill(asked["batch"], asked["prompt"])
    if asked["phase"] == "verify":
        return Step.verify(asked["batch"], asked["drafted"], asked["context"])
    decode = Step.decode(asked["batch"], asked["context"])
    if asked["phase"] == "mixed":
        return Step.mixed(decode, Step.prefill(1, asked["prompt"]))
    return decode


def by_core(asked: dict[str, Any], model: str = MODEL) -> Any:
    return predict(
        model,
        MACHINE,
        engine=asked["engine"],
        step=step_of(asked),
        parallel=Parallel(tp=asked["devices"]) if asked["devices"] > 1 else None,
        **{name: asked[name] or None for name in ("weights", "kv", "compute")},
    )


def test_a_file_carries_what_the_core_predicts(node):
    data = page_data([MODEL], [MACHINE], date="2026-01-01")
    formats = {"weights": "fp8", "kv": "fp8"}
    data["predicted"] = [
        *grids("vllm", {MODEL: MODEL}, {MACHINE: MACHINE}, {}),
        *grids("vllm", {MODEL: MODEL}, {MACHINE: MACHINE}, formats, 4),
    ]
    rng = random.Random(3)
    asked = []
    for i in range(200):
        chosen = {"weights": "", "kv": ""} if i % 2 else formats
        asked.append(
            {
                "engine": "vllm", "devices": 1 if i % 2 else 4, "compute": "", "drafted": 4,
                "phase": rng.choice(["decode", "prefill"]), "batch": rng.choice(BATCHES),
                "context": rng.choice(TOKENS), "prompt": rng.choice(TOKENS), **chosen,
            }
        )  # fmt: skip
    script = (
        bundle("bound", "predicted", "state", exports=True)
        + READ
        + """
        const [model] = given.data.models, [machine] = given.data.machines;
        const { of } = makePredictions(given.data, () => {});
        console.log(JSON.stringify(given.asked.map((state) => {
          const c = makeCase(model, machine, state, given.data);
          return of(c, state, groupsOf(state));
        })));
        """
    )
    odd = [
        {**asked[1], "batch": 3},
        {**asked[1], "phase": "verify"},
        {**asked[1], "weights": "int4:128"},
        {**asked[1], "devices": 2},
        {**asked[1], "engine": "sglang"},
    ]
    found = node(script, {"data": data, "asked": [*asked, *odd]})
    for got, question in zip(found, asked, strict=False):
        time = by_core(question).times["step"]
        for name in ("value", "low", "high"):
            assert got[name] == pytest.approx(getattr(time, name), rel=1.1e-4), question
        assert got["level"] == 0.9
        assert got["low"] <= got["value"] <= got["high"]
    none = [{"none": x} for x in ("stops", "phase", "view", "view", "view")]
    assert found[len(asked) :] == none


def test_a_server_answers_as_the_core_predicts():
    asks = make_oracle(MODEL, [MACHINE], models=[MODEL, "qwen3-30b-a3b"], machines=[MACHINE])
    rng = random.Random(4)
    for _ in range(60):
        question = {
            "model": rng.choice([MODEL, "qwen3-30b-a3b"]), "machine": MACHINE,
            "engine": rng.choice(["vllm", "sglang", "trtllm", "llamacpp", "torch"]),
            "phase": rng.choice(["decode", "prefill", "verify", "mixed"]),
            "weights": rng.choice(["", "fp8"]), "kv": "", "compute": "",
            "devices": rng.choice([1, 2, 4]), "batch": rng.randint(1, 300),
            "context": rng.randint(1, 30000), "prompt": rng.randint(1, 9000), "drafted": 3,
        }  # fmt: skip
        answer = asks.answer(json.loads(json.dumps(question)))
        expected = by_core(question, question["model"])
        assert answer["seconds"] == expected.times["step"].to_json()
        assert answer["engine"]["id"] == question["engine"]
        assert answer["rows"] == expected.like.rows


@cache
def good_oracle():
    asks = make_oracle(MODEL, [MACHINE], models=[MODEL], machines=[MACHINE])
    asks.answer(GOOD)
    return asks


GOOD = {
    "model": MODEL, "machine": MACHINE, "engine": "vllm", "phase": "decode", "batch": 1,
    "context": 2048, "devices": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [
        {"model": "config.json"}, {"model": "../x"}, {"model": None}, {"model": ["llama"]},
        {"model": "llama-3.1-70b"}, {"machine": "here"}, {"machine": "mi300x"},
        {"engine": "own.json"}, {"engine": "/etc/passwd"}, {"engine": ""}, {"phase": "x"},
        {"batch": 0}, {"batch": "1"}, {"batch": True}, {"batch": 1e3}, {"context": 1 << 60},
        {"devices": 3}, {"devices": 1 << 30}, {"weights": "nope"}, {"weights": "x" * 999},
    ],
)  # fmt: skip
def test_questions_name_only_what_is_served(bad):
    from roofline.errors import RooflineError

    with pytest.raises(RooflineError):
        good_oracle().answer({**GOOD, **bad})
    for nothing in (None, [], "x", 3):
        with pytest.raises(InputError):
            good_oracle().answer(nothing)


def test_an_unknown_engine_is_refused():
    with pytest.raises(NotFound, match="known: "):
        make_page(MODEL, MACHINE, models=[MODEL], machines=[MACHINE], predict="nope")


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    things = {"models": [MODEL, "qwen3-0.6b"], "machines": [MACHINE, "rtx-4090"]}
    asks = make_oracle(MODEL, [MACHINE], **things)
    page = make_page(MODEL, [MACHINE], **things, language="en", live=True, oracle=asks)
    with PageServer(page, oracle=asks) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def post(
    server: PageServer, body: Any, path: str = "/api/predict", **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    own = {"Origin": server.origin, "Cookie": server.cookie, "Content-Type": "application/json"}
    own |= headers
    connection.request("POST", path, json.dumps(body), own)
    answer = connection.getresponse()
    text = json.loads(answer.read())
    connection.close()
    return answer.status, text


def test_over_the_wire(server):
    status, answer = post(server, GOOD)
    assert status == 200
    time = predict(MODEL, MACHINE, engine="vllm").times["step"]
    assert answer["seconds"]["value"] == time.value
    assert post(server, GOOD, Origin="http://evil.example")[0] == 403
    assert post(server, {**GOOD, "model": "x"})[0] == 422
    assert post(server, [])[0] == 422


def test_a_posted_config_is_predicted_for(server):
    config = {
        "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 1000,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128,
        "max_position_embeddings": 2048, "torch_dtype": "bfloat16",
    }  # fmt: skip
    status, answer = post(server, config, "/api/model")
    assert status == 200
    status, found = post(server, {**GOOD, "model": answer["model"]["id"]})
    assert status == 200
    assert 0 < found["seconds"]["low"] <= found["seconds"]["value"]


def row(page: Any) -> Any:
    return page.locator(".number", has_text=re.compile("^(Predicted|预测)"))


def test_a_served_page_shows_the_prediction_beside_the_bound(browser, server):
    context = browser.new_context(viewport={"width": 1200, "height": 900}, locale="en-US")
    page = context.new_page()
    quiet = Quiet(page)
    page.goto(server.address + "#b=37&c=3000")
    page.locator("rect.predicted").wait_for()
    found = predict(MODEL, MACHINE, engine="vllm", step=Step.decode(37, 3000))
    from roofline.units import digits, seconds

    speed, time = found.tokens_per_s, found.times["step"]
    said = row(page).inner_text()
    assert f"{digits(speed.value)} tokens/s, 90 % between {digits(speed.low)} and" in said
    assert "vLLM" in said
    row(page).locator("summary").click()
    row(page).filter(has_text="not measured here").wait_for()
    why = row(page).inner_text()
    assert f"{seconds(time.value)}, 90 % between {seconds(time.low)} and" in why
    assert "not measured here" in why
    page.locator(".more > summary").click()
    engine = page.locator(".field", has_text=re.compile("^Predicted for")).locator("select")
    engine.select_option("sglang")
    other = predict(MODEL, MACHINE, engine="sglang", step=Step.decode(37, 3000)).tokens_per_s
    row(page).filter(has_text=digits(other.value)).wait_for()
    addressed(page, "e=sglang")
    engine.select_option("")
    row(page).wait_for(state="hidden")
    assert page.locator("rect.predicted").count() == 0
    context.close()
    assert quiet.said == []


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    """The address of a page on disk with predictions, of which each is slow to make."""
    things = {"models": [MODEL, "qwen3-0.6b"], "machines": [MACHINE, "rtx-4090"]}
    text = make_page(MODEL, [MACHINE], **things, language="en", predict="vllm")
    path = tmp_path_factory.mktemp("predicted") / "page.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


def test_a_file_shows_the_prediction_and_says_where_it_has_none(browser, file):
    context = browser.new_context(viewport={"width": 1200, "height": 900}, locale="zh-CN")
    page = context.new_page()
    quiet = Quiet(page)
    page.goto(f"{file}#b=32&tp=2")
    page.locator("rect.predicted").wait_for()
    assert "90 %" in row(page).inner_text()
    page.locator(".twin > summary").click()
    page.locator(".twin", has_text="90 % 区间最慢").wait_for()
    page.locator("[data-name=batch] input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    case = Case(load_model(MODEL), load_machine(MACHINE), parallel=Parallel(tp=2))
    from roofline.predicting import Predictor, load_profile, predict_step

    speed = predict_step(Predictor(case, load_profile("vllm")), Step.decode(64)).tokens_per_s
    from roofline.units import digits

    row(page).filter(has_text=digits(speed.value)).wait_for()
    for hash, words in {
        "#b=33&lang=en": "nothing is guessed in between",
        "#p=verify&lang=en": "none in this file for this phase",
        "#m=qwen3-0.6b&lang=en": "none in this file for this model",
        "#on=h100-sxm,rtx-4090&b=8&lang=en": "tokens/s",
    }.items():
        page.evaluate(f"location.hash = {hash!r}")
        row(page).filter(has_text=words).wait_for()
    page.evaluate("location.hash = '#e=&lang=en'")
    row(page).wait_for(state="hidden")
    context.close()
    assert quiet.said == []


@pytest.mark.parametrize(
    ("width", "scheme", "language"), [(360, "light", "zh-CN"), (1440, "dark", "en-US")]
)
def test_devices_and_prediction_in_every_look(browser, file, scheme, language, width):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, locale=language, color_scheme=scheme
    )
    page = context.new_page()
    quiet = Quiet(page)
    page.goto(f"{file}#tp=4&b=8&ops=1")
    page.locator("rect.predicted").wait_for()
    page.evaluate(read("lab.js") + "; Object.assign(window, { collisions, crowding });")
    axe = resources.files(pytest.importorskip("axe_playwright_python")) / "axe.min.js"
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    page.evaluate(axe.read_text("utf-8"))
    for hash in ("#tp=4&b=8&ops=1", "#tp=64&b=1", "#on=h100-sxm,rtx-4090&tp=8&b=4096"):
        go(page, hash)
        assert page.evaluate("collisions(document, innerWidth)") == [], hash
        assert page.evaluate("crowding(document.body)") == [], hash
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found["violations"]] == []
    context.close()
    assert quiet.said == []

"""The decode step: one output in NumPy, transformers, JavaScript and WebAssembly; one count."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import page.live.reference as ref
from roofline.count.step import Step
from roofline.errors import UnsupportedError
from roofline.model.load import entries, from_config
from roofline.model.load import load as load_model
from roofline.page import live
from roofline.page.bundle import FOLDER, bundle, read
from roofline.page.rules import rules
from roofline.page.words import live_words

READ = (
    'import { readFileSync } from "node:fs";\nconst given = JSON.parse(readFileSync(0, "utf8"));\n'
)


def modules(*names):
    """Live modules as one script for Node; their exports under their own names."""
    exports = bundle(*(f"live/{name}" for name in names), exports=True)
    return exports.replace("export const", "const") + READ


@pytest.fixture(scope="module")
def torch_llama():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    def logits(s, layers, batch, context):
        config = transformers.LlamaConfig(
            hidden_size=s["hidden"], intermediate_size=s["middle"], num_hidden_layers=layers,
            num_attention_heads=s["heads"], num_key_value_heads=s["kv_heads"],
            head_dim=s["width"], vocab_size=s["vocab"], rms_norm_eps=s["epsilon"],
            rope_theta=s["theta"], tie_word_embeddings=True, attn_implementation="eager",
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config).eval()
        w = ref.Weights(s, layers)
        of = torch.from_numpy
        split = [s["heads"] * s["width"], s["kv_heads"] * s["width"], s["kv_heads"] * s["width"]]
        state = {"model.embed_tokens.weight": of(w.head), "lm_head.weight": of(w.head)}
        state["model.norm.weight"] = of(w.norm)
        cache = transformers.DynamicCache(config=config)
        for i in range(layers):
            at = f"model.layers.{i}."
            q, k, v = of(w.matrix(i, "qkv")).split(split)
            gate, up = of(w.matrix(i, "gate_up")).chunk(2)
            state |= {
                f"{at}self_attn.{n}_proj.weight": t for n, t in zip("qkv", (q, k, v), strict=True)
            }
            state[f"{at}self_attn.o_proj.weight"] = of(w.matrix(i, "out"))
            state |= {f"{at}mlp.gate_proj.weight": gate, f"{at}mlp.up_proj.weight": up}
            state[f"{at}mlp.down_proj.weight"] = of(w.matrix(i, "down"))
            state[f"{at}input_layernorm.weight"] = of(w.gain(i, "norm_in"))
            state[f"{at}post_attention_layernorm.weight"] = of(w.gain(i, "norm_mid"))
            keys, values = w.cache(i, batch, context)
            cache.update(of(keys[:, :, :-1].copy()), of(values[:, :, :-1].copy()), i)
        model.load_state_dict(state, strict=True)
        with torch.no_grad():
            out = model(
                torch.tensor(w.tokens(batch))[:, None],
                past_key_values=cache if context > 1 else None,
                position_ids=torch.full((batch, 1), context - 1),
            )
        return out.logits[:, -1].numpy()

    return logits


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("batch", "context"), [(1, 1), (3, 9), (5, 40)])
def test_reference_is_transformers_llama(torch_llama, batch, context):
    s = ref.SMALL
    expected = torch_llama(s, 2, batch, context)
    assert ref.difference(ref.step(s, 2, batch, context), expected) < 1e-5


def test_random_numbers_are_the_same_in_javascript(node):
    script = modules("numbers") + (
        "console.log(JSON.stringify(given.map(([i, s]) => [hash(i, s), number(i, s)])));"
    )
    pairs = [[i, s] for i in (0, 1, 2, 12345, 2**31, 2**32 - 1) for s in (0, 1, 0x10001, 4095)]
    for (index, seed), (h, n) in zip(pairs, node(script, pairs), strict=True):
        expected = int(ref.hashed(index, seed)[0])
        assert h == expected
        assert n == (expected >> 8) * 2**-23 - 1


STEP = """
const memory = makeMemory(48 << 20, false);
new Uint8Array(memory.memory.buffer).fill(255); // whatever was there before must not matter
const team = await Team.make({ count: 1, ...memory, code: kernels(memory.limits, given.fused) });
const out = given.cases.map(([s, layers, batch, most, context]) => {
  const job = { s, layers, most, context, at: 65536 };
  team.run(programs.prepare, "prepare", { ...job, batch: most });
  return team.run(programs.evaluate, "evaluate", { ...job, batch }).map((x) => [...x]);
});
console.log(JSON.stringify(out));
"""

ODD = {**ref.SMALL, "heads": 8, "kv_heads": 1, "width": 8, "middle": 40, "vocab": 50}
CASES = [
    (ref.SMALL, 2, 1, 1, 1), (ref.SMALL, 2, 1, 4, 2), (ref.SMALL, 1, 2, 2, 8),
    (ref.SMALL, 2, 3, 5, 9), (ref.SMALL, 2, 4, 4, 33), (ref.SMALL, 2, 7, 7, 64),
    (ODD, 3, 6, 6, 17), (ref.SMALL, 1, 37, 40, 9), (ODD, 1, 65, 65, 3),
]  # fmt: skip


def test_webassembly_gives_the_same_output(node):
    script = modules("programs", "team", "kernels") + STEP
    for logits, (s, layers, batch, _, context) in zip(
        node(script, {"cases": CASES, "fused": False}), CASES, strict=True
    ):
        assert ref.difference(logits, ref.step(s, layers, batch, context)) < 1e-5


def test_plain_javascript_gives_the_same_output(node):
    script = modules("plain") + (
        "console.log(JSON.stringify(given.map(([s, layers, batch, , context]) =>"
        " plainStep(s, layers, batch, context).map((x) => [...x]))));"
    )
    for logits, (s, layers, batch, _, context) in zip(node(script, CASES), CASES, strict=True):
        assert ref.difference(logits, ref.step(s, layers, batch, context)) < 1e-6


def test_the_comparison_can_fail():
    expected = ref.step(ref.SMALL, 1, 2, 5)
    wrong = expected.copy()
    wrong[1, 7] += 1e-4 * np.sqrt((expected**2).mean())
    assert ref.difference(wrong, expected) > 5e-5


def cut(name, layers):
    """The catalogue's model with fewer layers, made from its config."""
    config = next(e["config"] for e in entries() if e["id"] == name)
    return from_config({**config, "num_hidden_layers": layers})


def test_flops_and_bytes_are_those_of_the_core(node):
    """Operator by operator, for every shape offered, in both formats."""
    shapes = {x["shape"]["id"]: x["shape"] for x in live.shapes()}
    cases = [
        (name, layers, batch, context, size)
        for name in shapes
        for layers, batch, context in ((1, 1, 1), (2, 3, 128), (7, 256, 2048))
        for size in (4, 2)
    ]
    script = modules("shape") + (
        "console.log(JSON.stringify(given.map(([s, ...rest]) => ledger(s, ...rest))));"
    )
    found = node(script, [(shapes[name], *rest) for name, *rest in cases])
    for rows, (name, layers, batch, context, size) in zip(found, cases, strict=True):
        work = cut(name, layers).work({4: "fp32", 2: "fp16"}[size])
        costs = [
            c for c in work.costs(Step.decode(batch, context)) if c.operator.kind != "embedding"
        ]
        assert [row["name"] for row in rows] == [c.operator.name for c in costs]
        for row, cost in zip(rows, costs, strict=True):
            for part in ("flops", "weights", "kv_read", "kv_write"):
                assert row[part] == getattr(cost, part), (name, row["name"], part)


def test_the_page_draws_the_step_that_was_measured(node):
    """The page's model with fewer layers prices as the core's with fewer layers."""
    from roofline.page.data import format_json

    offered = live.shapes()
    cases = [(x, layers, fmt) for x in offered for layers in (1, 5) for fmt in ("fp32", "fp16")]
    script = bundle("live/cut", "work", exports=True).replace("export const", "const") + READ
    script += """
const found = given.cases.map(([x, layers, format]) => {
  const table = bind(cutModel(x.model, x.shape, layers, format, "cut"), {}, given);
  const rows = costs(table, step.decode(3, 100));
  return [table.resident, rows.map((r) => [r.op.name, r.op.compute, r.flops, r.bytes])];
});
console.log(JSON.stringify(found));
"""
    formats = {name: format_json(name) for name in ("fp32", "fp16", "bf16")}
    for (resident, rows), (x, layers, fmt) in zip(
        node(script, {"cases": cases, "formats": formats, "rules": rules()}), cases, strict=True
    ):
        work = cut(x["shape"]["id"], layers).work(fmt)
        costs = work.costs(Step.decode(3, 100))
        expected = [[c.operator.name, c.operator.compute, c.flops, c.traffic] for c in costs]
        assert rows == expected
        assert resident == work.resident


@pytest.mark.parametrize("name", ["gemma-3-270m", "qwen3-0.6b", "gpt2", "mixtral-8x7b"])
def test_what_the_kernels_do_not_run_is_refused(name):
    config = next(e["config"] for e in entries() if e["id"] == name)
    with pytest.raises(UnsupportedError):
        live.shape(load_model(name), config)


def test_plans_keep_to_memory_and_time(node):
    shapes = [x["shape"] for x in live.shapes()]
    batches = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    cases = [
        (s, context, batches, {"memory": m << 20, "flops": f, "size": 4, "binding": b})
        for s in shapes
        for context in (1, 128, 4096)
        for m in (64, 256, 1024, 4096)
        for f in (1e9, 1e12, 1e15)
        for b in (128 << 20, 1 << 31)
    ]
    script = modules("shape") + (
        "console.log(JSON.stringify(given.map(([s, c, b, o]) => { const p = plan(s, c, b, o);"
        " const most = Math.max(0, ...p.batches); return { ...p, held: weightBytes(s, p.layers, 4)"
        " + most * cacheBytes(s, p.layers, c, 4) + activationBytes(s, most),"
        " half: most * cacheBytes(s, 1, c, 4) / 2 }; })));"
    )
    seen = set()
    for p, (s, _, _, room) in zip(node(script, cases), cases, strict=True):
        seen.add((p["reason"], p["layers"] == s["layers"]))
        if p["layers"] == 0:
            assert p["batches"] == [] and p["reason"] == "memory"
            continue
        assert 1 <= p["layers"] <= s["layers"]
        assert p["held"] <= room["memory"] and p["half"] <= room["binding"]
        assert p["batches"] == batches[: len(p["batches"])]
        assert (p["reason"] == "") == (p["layers"] == s["layers"])
    assert {("memory", False), ("time", False), ("", True)} <= seen


def test_read_sums_every_word(node):
    """The probe of read bandwidth cannot skip memory: its sum is checked in closed form."""
    script = (
        modules("programs", "team", "kernels")
        + """
const memory = makeMemory(8 << 20, false);
const team = await Team.make({ count: 1, ...memory, code: kernels(memory.limits, false) });
const { kernels: k, words } = team.first;
const sums = [];
for (const [at, size, change] of given) {
  k.count(at, size / 4, 3);
  words[at / 4 + change] ^= 1;
  const all = words.subarray(at / 4, (at + size) / 4);
  sums.push([k.read(at, size) >>> 0, all.reduce((n, x) => (n + x) >>> 0, 0)]);
}
const limits = { least: 2, most: 2, seconds: 0 };
const found = team.run(programs.readMemory, "readMemory", { at: 65536, bytes: 4 << 20, limits });
console.log(JSON.stringify({ sums, found }));
"""
    )
    given = [(65536, 512, 0), (65536, 512, 127), (65600, 512 * 7, 800), (4096, 1 << 20, 200_000)]
    out = node(script, given)
    assert all(found == expected for found, expected in out["sums"])
    assert out["found"]["correct"] is True
    assert out["found"]["bytes"] == 4 << 20


def test_words_are_complete_in_both_languages():
    en, zh = live_words("en"), live_words("zh")
    assert list(en) == list(zh)
    for key, text in en.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", zh[key])), key
        assert text.strip() and zh[key].strip()


def test_every_sentence_that_can_be_said_exists():
    """Keys in full, and the codes that the worker sends: each has its sentence."""
    folder = os.path.join(FOLDER, "live")
    scripts = {name: read(f"live/{name}") for name in os.listdir(folder) if name.endswith(".js")}
    words = live_words("en")
    keys = set()
    for text in scripts.values():
        keys |= set(re.findall(r'"(live\.[\w.]+)"', text))
    worker, all_text = scripts["worker.js"], "".join(scripts.values())
    codes = set(re.findall(r'send\("note", \{ code: "([\w.]+)"', worker))
    codes |= set(re.findall(r'GpuError\(\s*"([\w.]+)"', all_text))
    codes |= set(re.findall(r'\bnote\("([\w.]+)"', scripts["panel.js"]))
    codes |= {"time", "time.none", "wasm.memory", "failed", "worker", "hidden", "layers.memory"}
    assert {"gpu.lost", "gpu.memory", "wasm.simd", "clock", "wrong", "room"} <= codes
    keys |= {f"live.note.{code}" for code in codes}
    stages = set(re.findall(r'stage\("([\w.]+)"', worker))
    assert len(stages) > 8
    keys |= {f"live.stage.{code}" for code in stages}
    keys |= {f"live.file.{k}" for k in re.findall(r'say\("(\w+)"', scripts["writer.js"])}
    keys |= {f"live.file.note.{k}" for k in re.findall(r'problem\("(\w+)"', scripts["writer.js"])}
    assert len(keys) > 50
    assert keys <= words.keys()

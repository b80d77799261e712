"""Random layouts that divide the models of tests/core."""

from __future__ import annotations

from functools import cache

from hypothesis import assume
from hypothesis import strategies as st

from roofline import Case, InputError, Parallel, load_machine, load_model

MODELS = ("llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "gemma-2-9b", "gpt-oss-20b",
          "mixtral-8x7b", "falcon-7b", "llama-3.2-1b")  # fmt: skip
MACHINES = ("h100-sxm", "mi300x", "gb200", "tpu-v5p")


@cache
def case(model, machine, parallel=None, weights=None, kv=None):
    found = load_model(model), load_machine(machine)
    return Case(*found, parallel=parallel, weights=weights, kv=kv, link=None, latency=None)


@st.composite
def layouts(draw):
    tp, dp = draw(st.sampled_from((1, 2, 4, 8))), draw(st.sampled_from((1, 2, 4)))
    pp = draw(st.sampled_from((1, 1, 2, 3)))
    ep = draw(st.sampled_from([e for e in (1, 2, 4, 8, 16, 32) if tp * dp % e == 0]))
    waves = draw(st.sampled_from((None, 1, 2, 5))) if pp > 1 else None
    return Parallel(tp=tp, pp=pp, ep=ep, dp=dp, microbatches=waves)


@st.composite
def cases(draw, layout=None):
    args = draw(st.sampled_from(MODELS)), draw(st.sampled_from(MACHINES))
    parallel = draw(layout if layout is not None else layouts())
    try:
        return case(*args, parallel, draw(st.sampled_from((None, "fp8", "int4"))))
    except InputError:
        assume(False)

"""Random steps and cases."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from roofline import Case, Group, Step, load_machine, load_model

MODELS = ("llama-3.1-8b", "llama-2-7b", "qwen3-30b-a3b", "deepseek-v3", "gemma-2-9b",
          "gpt-oss-20b", "mixtral-8x7b", "opt-1.3b", "falcon-7b")  # fmt: skip
MACHINES = ("h100-sxm", "a100-80gb-sxm", "rtx-4090", "v100-sxm-32gb", "m4-max-40c", "mi300x")
WEIGHTS = (None, "fp8", "int4", "q4_k", "nf4")
CACHES = (None, "fp8", "int8")


@cache
def case(model, machine, weights=None, kv=None):
    return Case(load_model(model), load_machine(machine), weights=weights, kv=kv)


cases = st.builds(
    case,
    st.sampled_from(MODELS),
    st.sampled_from(MACHINES),
    st.sampled_from(WEIGHTS),
    st.sampled_from(CACHES),
)
batches = st.integers(1, 4096)
contexts = st.integers(1, 200_000)
groups = st.builds(Group, batches, st.integers(1, 5000), st.integers(0, 150_000), st.booleans())
steps = st.one_of(
    st.builds(Step.decode, batches, contexts),
    st.builds(Step.prefill, st.integers(1, 64), st.integers(1, 20_000), st.integers(0, 10_000)),
    st.builds(Step.verify, batches, st.integers(1, 16), contexts),
    st.builds(lambda g: Step("mixed", tuple(g)), st.lists(groups, min_size=1, max_size=3)),
)

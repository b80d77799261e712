"""A model counted from its real class: for what transformers can build and no row describes.

The class of a config is built without weights on torch's meta device (transformers' own class,
never code that the config names) and run on one and on two tokens. Products of activations with a
parameter are its matrices; a module with a stack of matrices is a mixture of experts; what remains
are products of activations with each other: α a token, β a query-key pair, from f(1) = α + β and
f(2) = 2α + 4β, all pairs being computed. What a layer caches is what the class caches.

Layers with a state, whose classes step it with operations that cannot be told apart from
others, are refused. Needs the extra ``trace``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from .. import catalogue
from ..count.quantity import TOKENS, entries, held, pairs
from ..count.work import Operator
from ..errors import InputError, MissingExtra, NotFound, UnsupportedError
from ..record import record
from ..words.note import Note
from .built import plain
from .config import Config, read_json, short
from .families.common import dtype
from .ffn import Experts
from .model import Layer, Model, Uniform
from .parts import LayerPart, LayerPricing, Linear, Matrices, whole


@record
class TracedAttention:
    """Products of activations with each other, and a cache, as a class showed them.

    Attributes:
        pair: FLOPs a query-key pair.
        entry: numbers cached a token.
        window: tokens that are attended to, ``None`` for all.
    """

    pair: int
    entry: int
    window: int | None

    def linears(self) -> tuple[Linear, ...]:
        """None: its projections are matrices beside it."""
        return ()

    @property
    def vectors(self) -> int:
        """None."""
        return 0

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Attention proper."""
        entry = whole(self.entry * pricing.kv.size)
        yield Operator(
            name="attention" if self.window is None else f"attention[window {self.window}]",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((pairs(self.window), self.pair),),
            kv_read=((entries(self.window), entry),),
            kv_write=((TOKENS, entry),),
            held=((held(self.window), entry),),
        )


def load(name: str, as_type: str | None = None) -> Model:
    """The model of a name, counted from its class: of a catalogue's name, a ``config.json``, its
    folder, or a repository in the Hugging Face cache.

    Args:
        as_type: the ``model_type`` whose class to build, where the config names another.

    Raises:
        InputError: not a config; a GGUF file, which names no class.
        NotFound: no such name or file.
        UnsupportedError: a class that cannot be built or run without weights, or has a state.
        MissingExtra: torch and transformers are not installed.
    """
    path = os.path.expanduser(name)
    path = os.path.join(path, "config.json") if os.path.isdir(path) else path
    if not os.path.isfile(path):
        try:
            entry = catalogue.find(name, catalogue.read("model/catalogue.json")["models"], "model")
        except NotFound:
            folder = _cached(name)
            if folder is None:
                raise
            path = os.path.join(folder, "config.json")
        else:
            return from_config(entry["config"], entry["name"], as_type)
    if path.endswith(".gguf"):
        raise InputError(f"{path}: --trace builds a config's class; a GGUF file names none")
    data = read_json(path, constants=True)
    if not isinstance(data, dict):
        raise InputError(f"{path}: a config is a JSON object")
    return from_config(data, path, as_type)


def _cached(name: str) -> str | None:
    from ..files import hub

    repo = hub.parse(name)
    return hub.find(repo) if repo is not None else None


def from_config(data: dict[str, Any], where: str = "config", as_type: str | None = None) -> Model:
    """The model of a parsed config, counted from its class."""
    try:
        import torch
        import transformers
    except ImportError:
        raise MissingExtra("torch and transformers", "trace", "--trace") from None
    quiet: Any = transformers.logging.set_verbosity_error
    auto: Any = transformers.AutoModelForCausalLM
    quiet()
    given = plain(json.loads(json.dumps(data)), where)
    kind = as_type or given.get("model_type", "")
    given.pop("model_type", None)
    if not isinstance(kind, str) or kind not in transformers.CONFIG_MAPPING:
        raise UnsupportedError(
            f"{where}: --trace: transformers {transformers.__version__} has no model_type "
            f"{short(kind)}; '--as TYPE' names one that it has"
        )
    try:
        config = transformers.AutoConfig.for_model(kind, **given)
        with torch.device("meta"):
            made = auto.from_config(
                config, attn_implementation="eager", experts_implementation="batched_mm",
                dtype=torch.bfloat16, trust_remote_code=False,
            ).eval()  # fmt: skip
        runs = [_run(made, n) for n in (1, 2)]
        cache = _cache(made)
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise UnsupportedError(
            f"{where}: {kind or 'model'}: transformers cannot build and run it without weights: "
            f"{type(error).__name__}: {(reason or [''])[0][:200]}"
        ) from None
    return _model(Config(data, where), made, runs, cache)


def _run(model: Any, tokens: int) -> tuple[dict[int, int], dict[str, int]]:
    """FLOPs by the parameter multiplied with, and by module where there is none."""
    import torch
    from torch.utils.flop_counter import flop_registry
    from torch.utils.module_tracker import ModuleTracker

    owners = {p.untyped_storage()._cdata: i for i, p in enumerate(model.parameters())}
    with_parameter: dict[int, int] = {}
    between: dict[str, int] = {}
    tracker = ModuleTracker()

    mode: Any = torch.utils._python_dispatch.TorchDispatchMode

    class Watch(mode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            formula = flop_registry.get(getattr(func, "_overloadpacket", None))
            if formula is None:
                return out
            flops = formula(*args, **(kwargs or {}), out_val=out)
            # A bias that is added along (addmm) has one dimension; what is multiplied has two.
            tensors = [a for a in args if isinstance(a, torch.Tensor) and a.dim() > 1]
            owned = [owners.get(t.untyped_storage()._cdata) for t in tensors]
            result = next((i for i in owned if i is not None), None)
            if result is not None:
                with_parameter[result] = with_parameter.get(result, 0) + flops
            else:
                where = max(tracker.parents - {"Global"}, key=len, default="")
                between[where] = between.get(where, 0) + flops
            return out

    ids = torch.zeros(1, tokens, dtype=torch.long, device="meta")
    watch: Any = Watch
    with torch.no_grad(), tracker, watch():
        model(input_ids=ids)
    return with_parameter, between


def _cache(model: Any) -> list[int]:
    """Numbers that each layer caches of one token."""
    import torch

    ids = torch.zeros(1, 1, dtype=torch.long, device="meta")
    with torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
    cache = getattr(out, "cache", None) or out.past_key_values
    result = []
    for layer in cache.layers:
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if not isinstance(keys, torch.Tensor) or not isinstance(values, torch.Tensor):
            raise TypeError("a layer with a state instead of a cache cannot be traced")
        result.append(keys.numel() + values.numel())
    return result


def _model(
    c: Config, made: Any, runs: list[tuple[dict[int, int], dict[str, int]]], cache: list[int]
) -> Model:
    import torch

    (used, one), (_, two) = runs
    root = type(made).__name__
    numbered = {id(p): i for i, p in enumerate(made.parameters())}
    name, layers = _layers(made, len(cache))
    table, head = made.get_input_embeddings(), made.get_output_embeddings()
    if head is None:
        raise c.refuse("its class has no output head")
    tied = head.weight is table.weight
    counted = {id(p) for p in head.parameters()}
    result: list[Layer] = []
    for i, layer in enumerate(layers):
        path = f"{name}.{i}"
        matrices, experts = _matrices(c, layer, numbered, used)
        between = _between(one, two, f"{root}.{path}")
        parts: list[LayerPart] = [Matrices("linear", matrices, products=between[0]), *experts]
        parts.append(TracedAttention(between[1], cache[i], _window(layer)))
        inside = sum(m.parameters for m in matrices)
        inside += sum(m.parameters for part in experts for m in part.linears())
        every = sum(p.numel() for p in layer.parameters())
        counted |= {id(p) for p in layer.parameters()}
        result.append(Layer(tuple(parts), (i,), every - inside, name))
    tables = [m for m in made.modules() if isinstance(m, torch.nn.Embedding)]
    rest = [m for m in made.modules() if isinstance(m, torch.nn.Linear) and m is not head]
    outside = tuple(
        Linear(f"outer.{n}", m.in_features, m.out_features)
        for n, m in enumerate(rest)
        if id(m.weight) not in counted and numbered[id(m.weight)] in used
    )
    looked = {id(t.weight): t.weight.numel() for t in tables if id(t.weight) not in counted}
    looked[id(table.weight)] = table.weight.numel()
    stored, assumed = dtype(c)
    bias = getattr(head, "bias", None) is not None
    model = Model(
        name=c.where,
        architecture=c.kind,
        hidden=table.weight.shape[1],
        vocab=head.weight.shape[0],
        layers=_together(result),
        head=Linear("lm_head", head.weight.shape[1], head.weight.shape[0], bias),
        tied=tied,
        tables=sum(looked.values()),
        dtype=stored,
        scheme=Uniform(stored),
        outer=outside,
        notes=(*assumed, Note("trace")),
    )
    total = sum(p.numel() for p in made.parameters())
    return model.altered(vectors=total - model.parameters)


def _layers(made: Any, depth: int) -> tuple[str, Any]:
    import torch

    for name, module in made.named_modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == depth:
            return name, module
    raise UnsupportedError(f"{type(made).__name__}: its layers are not one list of {depth}")


def _matrices(
    c: Config, layer: Any, numbered: dict[int, int], used: dict[int, int]
) -> tuple[tuple[Linear, ...], list[Experts]]:
    matrices: list[Linear] = []
    experts: list[Experts] = []
    for path, module in layer.named_modules():
        own = dict(module.named_parameters(recurse=False))
        stacks = {n: p for n, p in own.items() if p.dim() == 3}
        if len(stacks) == 2 and "down_proj" in stacks:
            experts.append(_experts(c, path, stacks, own))
            continue
        for name, p in own.items():
            i = numbered[id(p)]
            if i not in used:
                continue
            # The FLOPs of one token are twice what of the parameter is multiplied.
            if used[i] != 2 * p.numel():
                raise c.refuse(f"{path}.{name} is not multiplied once by each token")
            outputs = p.shape[0] if p.dim() == 2 else 1
            bias = name == "weight" and own.get("bias") is not None
            matrices.append(Linear(path, p.numel() // outputs, outputs, bias))
    return tuple(matrices), experts


def _experts(c: Config, path: str, stacks: dict[str, Any], own: dict[str, Any]) -> Experts:
    first = next(p for n, p in stacks.items() if n != "down_proj")
    down = stacks["down_proj"]
    count, a, b = down.shape
    width = min(first.numel(), down.numel()) // count
    gated = first.numel() == 2 * down.numel()
    text: dict[str, Any] = c.data
    if isinstance(c.data.get("text_config"), dict):
        text = c.data["text_config"]
    keys = ("num_experts_per_tok", "experts_per_token", "moe_topk", "moe_k", "top_k_experts",
            "num_experts_per_token", "moe_top_k")  # fmt: skip
    active = next((text[k] for k in keys if type(text.get(k)) is int), 0)
    if not 0 < active <= count or not (gated or first.numel() == down.numel()):
        raise c.refuse(f"{path} is not experts of which the config says how many a token uses")
    hidden = a if a in first.shape else b
    bias = any(n.endswith("bias") for n in own)
    # The router is a matrix of its own, beside them.
    return _Routed(hidden, count, active, width // hidden, gated, bias, prefix=path)


class _Routed(Experts):
    """Experts whose router is counted as a matrix beside them."""

    def _router(self) -> tuple[Linear, ...]:
        return ()


def _between(one: dict[str, int], two: dict[str, int], path: str) -> tuple[int, int]:
    # α and β of a layer's products of activations; those of experts grow with tokens alone.
    def of(run: dict[str, int]) -> int:
        return sum(
            n
            for where, n in run.items()
            if (where == path or where.startswith(f"{path}.")) and not where.endswith("experts")
        )

    pair = (of(two) - 2 * of(one)) // 2
    return of(one) - pair, pair


def _window(layer: Any) -> int | None:
    for module in layer.modules():
        if hasattr(module, "sliding_window"):
            size = module.sliding_window
            return size if isinstance(size, int) and size > 0 else None
    return None


def _together(layers: list[Layer]) -> tuple[Layer, ...]:
    result: dict[Any, list[int]] = {}
    for layer in layers:
        result.setdefault((layer.parts, layer.vectors, layer.prefix), []).extend(layer.indices)
    return tuple(Layer(p, tuple(i), v, prefix) for (p, v, prefix), i in result.items())

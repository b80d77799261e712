"""A model held against the tensors of its checkpoint: what differs is counted and said.

The config says what should be there; the headers say what is. Weights are compared byte for
byte, matrix by matrix. Where they agree, the config's format stands (its scales and zero
points as kernels read them); where they do not, the tensors' own bytes do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..files.safetensors import Checkpoint, Tensor
from ..record import field, record
from ..words.note import Note
from .formats import Format, Share
from .model import Model, Scheme
from .parts import Linear
from .quant.names import canonical, spellings

_PART = re.compile(
    r"(.+?)(?:\.weight\.[\w.]+|[._](weight|bias|qweight|qzeros|scales|g_idx|blocks|biases|SCB"
    r"|weight_(?:packed|scale|scale_inv|scale_2|zero_point|shape|global_scale|g_idx)"
    r"|(?:input|output|k|v|q)_(?:scale|global_scale|zero_point)|pre_quant_scale))\Z",
    re.ASCII,
)
_PAYLOAD = ("weight", "qweight", "weight_packed", "blocks", "")
_OUTSIDE = ("lm_head", "model.embed_tokens", "model.norm")
_INDEX = re.compile(r"model\.layers\.(\d{1,6})\.")
_NAMES = {"BF16": "bf16", "F16": "fp16", "F32": "fp32", "F64": "fp64"}


@dataclass(slots=True)
class Module:
    """The tensors of one module, all experts together."""

    payload: int = 0
    size: int = 0
    dtype: str = ""


@record
class Corrected:
    """A scheme with the formats that a file's tensors turned out to have.

    Attributes:
        scheme: as the config says.
        found: the formats that differ, by full path.
    """

    scheme: Scheme
    found: Mapping[str, Format] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The config's, and that the files differ."""
        return f"{self.scheme.name}, as stored"

    def weight(self, path: str) -> Format:
        """The format of the matrix at a full module path."""
        return self.found.get(path) or self.scheme.weight(path)

    def compute(self, path: str) -> str:
        """The precision of the products with it."""
        found = self.found.get(path)
        return found.compute if found else self.scheme.compute(path)


def modules(tensors: Iterable[Tensor]) -> dict[str, Module]:
    """The tensors by module, under its canonical path."""
    found: dict[str, Module] = {}
    for t in tensors:
        match = _PART.match(t.name)
        name, part = (match[1], match[2] or "") if match else (t.name, "weight")
        if match and match[2] is None:
            part = "state"
        if part == "bias":
            continue
        module = found.setdefault(canonical(name), Module())
        module.size += t.size
        if part in _PAYLOAD:
            module.payload += t.size
            module.dtype = module.dtype or t.dtype
    return found


def against(model: Model, checkpoint: Checkpoint) -> Model:
    """The model as its checkpoint stores it, differences from the config in its notes."""
    if not checkpoint.tensors:
        return _by_index(model, checkpoint)
    held = modules(checkpoint.tensors)
    claims: dict[str, list[tuple[str, Linear]]] = {}
    absent: list[str] = []
    for path, m in _matrices(model):
        name = next((s for s in spellings(path) if s in held and held[s].payload), None)
        if name is None:
            absent.append(path)
        else:
            claims.setdefault(name, []).append((path, m))
    found: dict[str, Format] = {}
    served: list[str] = []
    for name, group in claims.items():
        differs = _differs(model, held[name], group)
        if differs == "wider":
            served += [path for path, _ in group]
        elif differs:
            weights = sum(m.copies * m.size for _, m in group)
            kept = _format(held[name], weights, model, group[0][0])
            found.update((path, kept) for path, _ in group)
    notes = [*model.notes, *_notes(model, found, absent, served)]
    aside = sum(t.size for t in checkpoint.tensors if _aside(t.name, model.depth))
    if aside:
        notes.append(Note("stored.beyond", size=f"{aside / 1e9:.3g}"))
    scheme: Scheme = Corrected(model.scheme, found) if found else model.scheme
    return model.altered(scheme=scheme, notes=tuple(notes))


def _matrices(model: Model) -> Iterable[tuple[str, Linear]]:
    for layer in model.layers:
        for i in layer.indices:
            for part in layer.parts:
                for m in part.linears():
                    yield f"{layer.prefix}.{i}.{m.path}", m
    if model.head is not None and not model.tied:
        yield model.head.path, model.head


def _differs(model: Model, module: Module, group: list[tuple[str, Linear]]) -> str:
    # Empty where the weights take as many bytes as the config says.
    expected, weights, bits = 0.0, 0, 0.0
    for path, m in group:
        form = model.scheme.weight(path)
        bits = form.layout.bits if form.layout else 8 * form.size
        expected += m.copies * m.size * bits / 8
        weights += m.copies * m.size
    if module.payload == -(-expected // 1):
        return ""
    if module.dtype in ("F32", "F64") and bits == 16:
        return "wider"
    if module.dtype == "I8" and bits < 8 and module.payload == weights:
        return ""  # a byte for each 4-bit weight: kernels pack them
    return "otherwise"


def _format(module: Module, weights: int, model: Model, path: str) -> Format:
    name = _NAMES.get(module.dtype)
    compute = model.dtype.compute if name else model.scheme.compute(path)
    layout = Share(8 * module.payload / weights, size=module.size, weights=weights)
    return Format(name or module.dtype.lower(), module.size / weights, compute, "", layout)


def _notes(
    model: Model, found: Mapping[str, Format], absent: list[str], served: list[str]
) -> Iterable[str]:
    if found:
        path, form = next(iter(found.items()))
        yield Note(
            "stored.differ",
            count=len(found),
            first=path,
            stored=form.name,
            said=model.scheme.weight(path).name,
        )
    if served:
        yield Note("stored.served", count=len(served))
    if absent:
        yield Note("stored.absent", count=len(absent), first=absent[0])


def _aside(name: str, depth: int) -> bool:
    path = canonical(name)
    if match := _INDEX.match(path):
        return int(match[1]) >= depth
    return not path.startswith(_OUTSIDE)


def _by_index(model: Model, checkpoint: Checkpoint) -> Model:
    # Only the index is here: its total is held against the model's.
    if not checkpoint.total:
        return model
    counted = model.work().resident
    if abs(checkpoint.total - counted) <= counted / 100:
        return model
    given = f"{checkpoint.total / 1e9:.4g}"
    note = Note("stored.index", given=given, counted=f"{counted / 1e9:.4g}")
    return model.altered(notes=(*model.notes, note))

"""What devices tell each other in a step, as operators.

Bytes that one device sends, for a result of S bytes over n devices, no adding in the network
(Thakur, Rabenseifner, Gropp, doi 10.1177/1094342005051521; a ring or a tree of halves alike):

    all_reduce        2·(n-1)/n · S      everyone gets the sum
    reduce_scatter      (n-1)/n · S      everyone gets a share of the sum
    all_gather          (n-1)/n · S      everyone gets the whole of n shares
    all_to_all        each token to the devices that hold its experts, and back
    send              S, to the next stage

Experts: with tokens in dp replicas (each on tp devices) and the experts in ep shares over the
n = tp·dp devices of a stage, a token must reach every device of the shares that hold its k
experts, with probability P for each (:mod:`roofline.parallel.reach`). The sends being divided
over all n devices, each sends per token of the step

    dispatch    (1 - 1/dp) · P        to devices that do not have the token already
    combine     (1 - 1/n) · P         partial sums, to the device that owns the token

rows of hidden width, dispatch in the format that the experts' products take in (fp8 with a
scale of fp32 for each 128), combine in that of the activations. With dp = 1 every device has
every token, there is no dispatch, and the partial sums are added up by the one all-reduce that
tensor parallelism needs anyway.
"""

from __future__ import annotations

from ..count.quantity import ONE, ROWS, TOKENS, Quantity
from ..count.reach import Reach
from ..count.work import Operator
from ..model.ffn import Experts
from ..model.model import Model
from ..model.parts import LayerPart, whole
from ..record import replace
from .layout import Parallel
from .shard import divided

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator

TAKEN_IN = {"fp8": 1 + 4 / 128, "int8": 1.0, "fp4": 0.5 + 1 / 16}
"""Bytes of an element that products in a narrow precision take in, scales of blocks included
(DeepSeek's fp8: a scale of fp32 for 128; NVFP4: one of fp8 for 16)."""


def exchanges(
    model: Model, here: range, layout: Parallel, element: float, taken_in: str = ""
) -> Iterator[tuple[Operator, bool]]:
    """What a device sends in one pass of its stage: operators, and whether the tokens of each
    are those of all replicas together.

    Args:
        model: the model before it was divided.
        here: the layers of the stage.
        element: bytes of an activation.
        taken_in: the precision of the routed experts' products.
    """
    there = layout.dispatch_size or min(element, TAKEN_IN.get(taken_in, element))
    elements = there, layout.combine_size or element
    tp, ring = layout.tp, (layout.tp - 1) / layout.tp
    row = model.hidden * element
    if tp > 1 and here.start == 0:
        yield _one("all_reduce", "embedding", tp, 2 * ring * row), False
    counts: dict[tuple[Operator, bool], int] = {}
    for layer in model.layers:
        count = layer.runs * sum(i in here for i in layer.indices)
        for part in layer.parts:
            for exchange in _after(part, layout, row, elements) if count else ():
                counts[exchange] = counts.get(exchange, 0) + count
    for (op, together), count in counts.items():
        yield replace(op, count=count), together
    if here.stop == model.depth:
        if tp > 1:
            yield _one("all_gather", "logits", tp, ring * model.vocab * element, ROWS), False
        return
    # Each device of a group sends its share of the rows on; the next stage's put them together.
    yield _one("send", "stage", layout.devices, row / tp), False
    if tp > 1:
        yield _one("all_gather", "stage", tp, ring * row), False


def _after(
    part: LayerPart, layout: Parallel, row: float, elements: tuple[float, float]
) -> Iterator[tuple[Operator, bool]]:
    tp, dp, n = layout.tp, layout.dp, layout.width
    ring = (tp - 1) / tp
    if not isinstance(part, Experts):
        if tp > 1 and divided(part, layout) != part:
            yield _one("all_reduce", "hidden", tp, 2 * ring * row), False
        return
    if dp == 1:
        if tp > 1:
            yield _one("all_reduce", "hidden", tp, 2 * ring * row), False
        return
    out = Reach(
        part.experts, part.active, layout.ep, n, groups=part.groups, chosen=part.chosen_groups
    )
    everyone = out.hit(1) == 1
    for what, owners, element, whole_name in (
        ("dispatch", tp, elements[0], "all_gather"),
        ("combine", 1, elements[1], "reduce_scatter"),
    ):
        reach = replace(out, owners=owners, row=part.token_width * element)
        collective = whole_name if everyone else "all_to_all"
        each = reach.rows(1) / n * reach.row
        yield replace(_one(collective, what, n, each), reach=reach), True
    if tp > 1:
        if part.shared:
            yield _one("reduce_scatter", "shared", tp, ring * row), False
        yield _one("all_gather", "hidden", tp, ring * row), False


def _one(collective: str, what: str, group: int, each: float, per: Quantity = TOKENS) -> Operator:
    return Operator(
        name=f"{collective}[{what}]",
        kind="communication",
        count=1,
        compute="",
        sent=((per, whole(each)),),
        messages=((ONE, 1),),
        collective=collective,
        group=group,
    )

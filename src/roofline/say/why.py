"""Why: the formula behind each number with its values filled in, and the sources."""

from __future__ import annotations

from ..bound.explanation import Explanation
from ..machine.machine import Figure
from ..units import digits, percent, seconds, si
from ..words import Words
from .lines import wrap
from .notes import caveat, dated, sentence


def rows(e: Explanation, words: Words) -> list[str]:
    """One sentence a number."""
    b, c, f, case = e.bound, e.climb, e.fit, e.case
    bandwidth = case.roof.bandwidth
    peak = b.ridge * bandwidth.value
    none = words("why.crossing.none")
    several = "" if case.parallel.single else ".parallel"
    limit = digits(c.limit) if c.limit is not None else "∞"
    result = [words("why.device")] if several and case.parallel.pp == 1 else []
    result += [
        words(
            "why.ridge",
            peak=si(peak, "FLOP/s"),
            bandwidth=si(bandwidth.value, "B/s"),
            ridge=digits(b.ridge, 4),
        ),
        words("why.flops", flops=si(b.flops, "FLOP", 5)),
        words(
            "why.bytes",
            weights=si(b.weights, "B", 5),
            kv_read=si(b.kv_read, "B", 5),
            kv_write=si(b.kv_write, "B", 5),
            state=si(b.state, "B", 5),
            total=si(b.compulsory, "B", 5),
        ),
        words("why.intensity", intensity=digits(b.intensity, 5)),
        words(
            "why.overlapped" + several,
            compute=seconds(b.compute_s),
            memory=seconds(b.memory_s),
            communication=seconds(b.communication_s),
            time=seconds(b.overlapped_s),
        ),
        words("why.serial" + several, time=seconds(b.serial_s)),
        words("why.limit", limit=limit),
        words(
            "why.crossing",
            limit=limit,
            ridge=digits(c.ridge),
            crossing=none if c.crossing is None else c.crossing,
        ),
    ]
    if c.linear_crossing is not None:
        result.append(words("why.linear", tokens=digits(c.linear_crossing)))
    kv = si(f.kv_bytes_per_sequence, "B", 5)
    result.append(words("why.kv" + several, kv=kv))
    if f.max_batch is not None:
        result.append(
            words(
                "why.fit" + several,
                replicas=case.parallel.dp,
                memory=si(f.memory_bytes or 0, "B", 4),
                usable=percent(f.usable),
                weights=si(f.weight_bytes, "B", 4),
                kv=kv,
                workspace=si(f.workspace_per_sequence, "B"),
                batch=f.max_batch,
            )
        )
    if several:
        from . import devices as say

        result += say.why(e, words)
    return [*result, *_sources(e, words)]


def _sources(e: Explanation, words: Words) -> list[str]:
    def of(figure: Figure, key: str, unit: str, **values: str) -> str:
        return words(
            key,
            value=si(figure.value, unit),
            kind=words(f"ceilings.{figure.kind}"),
            source=sentence(figure.source, words) or "?",
            date=dated(figure, words),
            note=caveat(figure, words),
            **values,
        )

    case = e.case
    result = [
        of(figure, "why.peak", "FLOP/s", precision=used)
        for used, figure in dict(case.arithmetic.values()).items()
    ]
    result.append(of(case.roof.bandwidth, "why.bandwidth", "B/s"))
    if case.machine.memory:
        result.append(of(case.machine.memory, "why.memory", "B"))
    if case.model.source:
        result.append(words("why.model", source=case.model.source))
    return [*result, words("why.convention")]


def text(e: Explanation, words: Words, *, columns: int = 100) -> str:
    """The sentences, wrapped."""
    out = [words("why.title")]
    for text in rows(e, words):
        first, *more = wrap(text, columns - 4)
        out += ["  " + first, *("    " + line for line in more)]
    return "\n".join(out)

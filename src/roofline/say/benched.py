"""A run of an engine in words: the plan, each point as it is measured."""

from __future__ import annotations

from typing import Any

from ..units import digits, percent, seconds, si
from ..words import Words


def plan(chosen: Any, words: Words) -> str:
    """What is about to be measured, and for how long."""
    plan = chosen.plan
    decode = [job for job in plan.jobs if job.phase == "decode"]
    prefill = [job for job in plan.jobs if job.phase == "prefill"]
    batches = words.joined(str(b) for b in dict.fromkeys(job.batch for job in decode))
    contexts = words.joined(str(c) for c in dict.fromkeys(job.length for job in decode))
    lines = [
        words("bench.plan.what", engine=chosen.engine, model=chosen.model_name,
              weights=chosen.weights or words(f"bench.plan.formats.{_whose(chosen)}"),
              device=chosen.device),
    ]  # fmt: skip
    if decode:
        key = "bench.plan.served" if chosen.engine == "endpoint" else "bench.plan.decode"
        lines.append(words(key, batches=batches, contexts=contexts))
    if prefill:
        lines.append(
            words("bench.plan.prefill", prompts=words.joined(str(job.length) for job in prefill))
        )
    for skip in plan.skipped:
        lines.append(
            words("bench.plan.memory", batch=skip.job.batch, length=skip.job.length,
                  needed=si(skip.needed, "B"), there=si(skip.there, "B"))
        )  # fmt: skip
    lines.append(words("bench.plan.time", count=len(plan.jobs), time=seconds(plan.total)))
    return "\n".join(lines)


def _whose(chosen: Any) -> str:
    return "server" if chosen.engine == "endpoint" else "file"


def event(seen: Any, words: Words) -> str:
    """One line of a run: what is measured now, or how fast it was."""
    what = words(f"bench.job.{seen.job.phase}", batch=seen.job.batch, length=seen.job.length)
    head = f"{seen.index}/{seen.total} {what}"
    if seen.kind == "start":
        return f"{head} … {words('bench.left', time=seconds(seen.left))}"
    if seen.point is None or seen.kind not in ("done", "skip", "lost"):
        return words("joint.colon", head=head, text=seen.message)
    spread = seen.point.seconds.spread
    speed = words(
        "bench.speed",
        speed=digits(seen.point.tokens_per_s),
        spread=percent(spread) if spread is not None else "?",
        samples=seen.point.seconds.samples or "?",
    )
    said = words("bench.kept.earlier" if seen.kind == "skip" else "bench.done", speed=speed)
    marks = [f"bench.note.{note}" for note in seen.point.notes]
    known = words.joined((words(key) for key in marks if words.has(key)), "sides")
    said += words("why.note", notes=known) if known else ""
    return words("joint.colon", head=head, text=said)


def notice(seen: Any, words: Words) -> str:
    """What is told beside the jobs: what is made ready, what differs from an earlier run."""
    if seen.code == "plain":
        return str(seen.values["text"])
    said = {n: words.joined(v) if isinstance(v, tuple) else v for n, v in seen.values.items()}
    return words(f"bench.{seen.code}", **said)

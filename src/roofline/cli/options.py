"""Options that several verbs share, and what they make: a step, a case, words."""

from __future__ import annotations

import argparse
import re

from ..bound.case import DEFAULT_USABLE, Case
from ..count.step import CONTEXT, ENCODED, PHASES, Step
from ..errors import InputError
from ..machine.load import load as load_machine
from ..machine.machine import Machine
from ..model.load import load as load_model
from ..model.model import Model
from ..units import parse_count, parse_quantity
from ..words import Words, choose
from . import layouts

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any


def add_model(p: argparse.ArgumentParser) -> None:
    """MODEL and ``--on``."""
    p.add_argument(
        "model",
        metavar="MODEL",
        help="a name from 'roofline models', a config.json or its folder, or a model file",
    )
    p.add_argument(
        "--on",
        metavar="MACHINE",
        help="a name from 'roofline machines', a machine file, or 'here' (see 'roofline measure')",
    )
    add_figures(p)
    p.add_argument(
        "--trace",
        action="store_true",
        help="count the model from its class in transformers, not from what roofline knows of it "
        "(extra 'trace')",
    )
    add_as(p)


def add_as(p: Any) -> None:
    """``--as``."""
    p.add_argument(
        "--as",
        dest="as_type",
        metavar="TYPE",
        help="count MODEL as this architecture (see 'roofline models --architectures'), where its "
        "own is another name for it; what TYPE does not know is refused",
    )


def add_figures(p: argparse.ArgumentParser) -> None:
    """A machine by its figures."""
    g = p.add_argument_group("a machine by its figures", "without --on, or in place of its own")
    g.add_argument("--bandwidth", metavar="BYTES/S", help="of its memory: 400GB/s")
    g.add_argument(
        "--peak",
        metavar="FLOP/S",
        help="dense: 28TFLOP/s (bf16, fp16 and fp32), or bf16=28TFLOP/s,int8=56TOP/s",
    )
    g.add_argument("--memory", metavar="BYTES", help="64GB, 24GiB; left out, what fits is unknown")


def machine(args: argparse.Namespace, on: str | None) -> Machine:
    """The machine of that name, with the figures that were typed in place of its own.

    Raises:
        InputError: neither a name nor figures, or wrong ones.
    """
    typed: dict[str, Any] = {
        "bandwidth": _quantity(args.bandwidth, "B/s", "--bandwidth"),
        "peak": None if args.peak is None else _peaks(args.peak),
        "memory": _quantity(args.memory, "B", "--memory"),
    }
    typed = {name: value for name, value in typed.items() if value is not None}
    if on is not None and not typed:
        return load_machine(on)
    if on is None and not typed:
        raise InputError(
            "which machine? --on MACHINE ('roofline machines' lists them), or its figures: "
            "--bandwidth 400GB/s --peak 28TFLOP/s --memory 64GB"
        )
    from ..machine.given import given

    return given(None if on is None else load_machine(on), **typed)


def _quantity(text: str | None, unit: str, what: str) -> float | None:
    return None if text is None else parse_quantity(text, unit, what)


def _peaks(text: str) -> float | dict[str, float]:
    if "=" not in text:
        return parse_quantity(text, "FLOP/s", "--peak")
    result = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        result[name.strip().lower()] = parse_quantity(
            value, "FLOP/s", f"--peak {name.strip()[:20]}"
        )
    return result


def add_step(p: argparse.ArgumentParser) -> None:
    """What is run."""
    g = p.add_argument_group("step")
    g.add_argument("--batch", metavar="N", default="1", help="sequences (default 1)")
    g.add_argument(
        "--context",
        metavar="N",
        help="tokens the last new token attends to, itself included: 2048, 8k (default 2048); "
        "encode: tokens of a sequence (default 512)",
    )
    g.add_argument(
        "--phase",
        choices=PHASES,
        help="decode, prefill, verify, mixed; encode for encoders, embedders and rerankers, which "
        "keep no cache (default decode, encode for a model that only encodes)",
    )
    g.add_argument(
        "--prompt",
        metavar="N",
        help="prefill, mixed, encode: new tokens of a sequence (default: the context)",
    )
    g.add_argument(
        "--past",
        metavar="N",
        default="0",
        help="prefill, mixed: tokens cached before them, a prefix or earlier chunks (default 0)",
    )
    g.add_argument("--drafted", metavar="K", default="4", help="verify: drafted tokens (default 4)")
    g.add_argument(
        "--prefill-batch",
        metavar="N",
        default="1",
        help="mixed: sequences in prefill beside the --batch in decode (default 1)",
    )


def add_formats(p: argparse.ArgumentParser) -> None:
    """Formats, ceilings, memory."""
    g = p.add_argument_group("formats and machine")
    g.add_argument(
        "--weights",
        metavar="FORMAT",
        help="bf16, fp8, int4 (groups of 128), int4:64, nf4, mxfp4, nvfp4, q4_k, 4.85bits … "
        "(default: as the checkpoint stores them)",
    )
    g.add_argument("--kv", metavar="FORMAT", help="format of the cache (default: activations')")
    g.add_argument(
        "--compute",
        metavar="PRECISION",
        help="arithmetic of the matrix products (default: what the weight format runs in)",
    )
    g.add_argument(
        "--ceilings",
        choices=("datasheet", "measured"),
        help="which ceilings (default: the machine's own: datasheet's, or measured for 'here')",
    )
    g.add_argument(
        "--usable",
        metavar="FRACTION",
        default=str(DEFAULT_USABLE),
        help=f"fraction of the memory for weights and cache (default {DEFAULT_USABLE})",
    )


def add_unsaid(p: argparse.ArgumentParser) -> Any:
    """What a result file may leave out; returns the group."""
    g = p.add_argument_group("what a file does not say")
    g.add_argument("--model", metavar="MODEL", help="a name, a config.json or its folder")
    add_as(g)
    g.add_argument("--on", metavar="MACHINE", help="a name, a machine file, or 'here'")
    g.add_argument("--weights", metavar="FORMAT", help="bf16, fp8, int4, q4_k_m, 4.85bits …")
    g.add_argument("--kv", metavar="FORMAT", help="format of the cache (default: activations')")
    g.add_argument("--batch", metavar="N", help="sequences that ran together")
    g.add_argument("--prompt", metavar="N", help="prompt tokens of a sequence")
    g.add_argument("--output", metavar="N", help="generated tokens of a sequence")
    g.add_argument("--context", metavar="N", help="tokens that each new one attends to")
    return g


def count(args: argparse.Namespace, name: str) -> int | None:
    """A count from 1 (a prompt may be 0), ``None`` where it was not given."""
    text = getattr(args, name)
    if text is None:
        return None
    value = parse_count(text, f"--{name}")
    if value < 1 and name != "prompt":
        raise InputError(f"--{name.replace('_', '-')} must be at least 1")
    return value


def unsaid(args: argparse.Namespace) -> dict[str, int | None]:
    """The shape of a run, as far as it was given."""
    return {name: count(args, name) for name in ("batch", "prompt", "output", "context")}


def add_out(
    g: Any, text: str, *former: str, default: str | None = None, metavar: str = "FILE"
) -> None:
    """``-o``, ``--out``: the file to write, in every verb that writes one; ``--output`` is tokens.

    Spellings of an earlier version are still taken, and shown nowhere.
    """
    g.add_argument("-o", "--out", metavar=metavar, default=default, help=text)
    if former:
        g.add_argument(*former, dest="out", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def add_output(p: argparse.ArgumentParser) -> None:
    """``--json`` and ``--lang``."""
    p.add_argument("--json", action="store_true", help="JSON, in SI base units")
    p.add_argument("--lang", metavar="zh|en", help="language (default: the locale's)")


def words(args: argparse.Namespace) -> Words:
    """The words asked for."""
    return choose(args.lang)


def fraction(text: str, what: str) -> float:
    """A number over 0 and up to 1, or a percentage.

    Raises:
        InputError: anything else.
    """
    match = re.fullmatch(r"(\d{0,3}(?:\.\d{0,6})?)\s*(%?)", text.strip())
    try:
        value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise InputError(f"{what} must be over 0 and up to 1 (or 100 %), not '{text[:40]}'")
    return value


def step(args: argparse.Namespace, model: Model | None = None) -> Step:
    """The step that the options describe, of the model's usual phase where they name none."""
    phase = args.phase or (model.phase if model else "decode")
    if phase == "encode":
        return _encode(args)
    batch = parse_count(args.batch, "--batch")
    context = parse_count(args.context, "--context") if args.context is not None else CONTEXT
    if phase == "decode":
        _unused(args, "prompt", phase)
        return Step.decode(batch, context)
    if phase == "verify":
        _unused(args, "prompt", phase)
        return Step.verify(batch, parse_count(args.drafted, "--drafted"), context)
    past = parse_count(args.past, "--past")
    if args.prompt is not None:
        prompt = parse_count(args.prompt, "--prompt")
    elif phase == "mixed" or past == 0 or args.context is None:
        prompt = context
    else:
        prompt = context - past
        if prompt < 1:
            raise InputError(f"--context {context} leaves no new token after --past {past}")
    if phase == "prefill":
        return Step.prefill(batch, prompt, past)
    others = parse_count(args.prefill_batch, "--prefill-batch")
    return Step.mixed(Step.decode(batch, context), Step.prefill(others, prompt, past))


def _encode(args: argparse.Namespace) -> Step:
    if args.prompt is not None and args.context is not None:
        raise InputError("give either --prompt or --context: an encode has one length")
    if args.past != "0":
        raise InputError("--past has no meaning for --phase encode: nothing is cached")
    tokens = args.prompt or args.context
    batch = parse_count(args.batch, "--batch")
    return Step.encode(batch, parse_count(tokens, "--context") if tokens is not None else ENCODED)


def _unused(args: argparse.Namespace, name: str, phase: str) -> None:
    if getattr(args, name) is not None:
        raise InputError(f"--{name} has no meaning for --phase {phase}")


def case(args: argparse.Namespace) -> Case:
    """The model in its formats under the machine's roof."""
    asked = {**formats(args), **layouts.parallel(args)}
    return Case(model(args), machine(args, args.on), ceilings=args.ceilings, **asked)


def model(args: argparse.Namespace) -> Model:
    """The model, by what roofline knows of it or by its class."""
    if getattr(args, "trace", False):
        from ..model import trace

        return trace.load(args.model, args.as_type)
    return load_model(args.model, args.as_type)


def formats(args: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of a case."""
    return {
        "weights": args.weights,
        "kv": args.kv,
        "compute": args.compute,
        "usable": fraction(args.usable, "--usable"),
    }

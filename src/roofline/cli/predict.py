"""``roofline predict MODEL --on MACHINE --engine ENGINE``: how fast it will really be."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files.written import json_text
from ..say.screen import columns
from ..units import WHOLE, decimal_hint, parse_count, plain
from . import layouts, options

if TYPE_CHECKING:
    from ..predicting import Prediction, Predictor


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    options.add_model(p)
    options.add_step(p)
    g = p.add_argument_group("engine and workload")
    g.add_argument(
        "--engine",
        metavar="ENGINE",
        default="vllm",
        help="vllm, trtllm, sglang, llamacpp, torch, vllm-2024, trtllm-2024, or a profile that "
        "'roofline calibrate' wrote (default vllm)",
    )
    g.add_argument(
        "--output",
        metavar="N",
        help="output tokens: a batch of whole requests of --prompt tokens, not one step",
    )
    g.add_argument(
        "--concurrency",
        metavar="N",
        help="requests in flight at a server, each of --prompt and --output tokens",
    )
    g.add_argument(
        "--rate",
        metavar="R",
        help="requests a second arriving at random, instead of --concurrency; lengths may be "
        "ranges, --prompt 500:2k --output 100:400 (simulated step by step)",
    )
    g.add_argument(
        "--lengths",
        metavar="FILE",
        help="lengths of requests that were seen, instead of --prompt and --output: CSV, prompt "
        "and output tokens a line",
    )
    g.add_argument(
        "--max-batch",
        metavar="N",
        help="most sequences that the server runs at once (max_num_seqs; default: what the cache "
        "holds)",
    )
    g.add_argument(
        "--chunk",
        metavar="N",
        help="most tokens of a step, prompts in chunks (max_num_batched_tokens; default 8192 where "
        "steps are simulated)",
    )
    options.add_formats(p)
    layouts.add_parallel(p)
    o = p.add_argument_group("answer")
    o.add_argument("--why", action="store_true", help="the formula, and each coefficient's source")
    options.add_output(o)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    """Predict a step, a batch of requests or a served workload."""
    from ..api.predict import NO_ENCODING
    from ..predicting import Predictor, load_profile

    words = options.words(args)
    if args.ceilings:
        raise InputError(
            "--ceilings has no meaning here: prediction starts from the datasheet, and from the "
            "measured matrix product where the machine has one"
        )
    case = options.case(args)
    if "encode" in (args.phase, case.model.phase if args.phase is None else ""):
        raise InputError(NO_ENCODING.format(name=case.model.name))
    result = _ask(args, Predictor(case, load_profile(args.engine)))
    if args.json:
        print(json_text(result.to_json(), 2))
        return 0
    from ..say import predicted as say

    width = columns()
    print(say.text(result, words, columns=width))
    if args.why:
        print("\n" + say.why(result, words, columns=width))
    return 0


def _ask(args: argparse.Namespace, at: Predictor) -> Prediction:
    from ..api.predict import of_requests, of_step

    def count(name: str) -> int | None:
        text = getattr(args, name)
        return None if text is None else parse_count(text, f"--{name.replace('_', '-')}")

    server = {name: count(name) for name in ("max_batch", "chunk")}
    if all(getattr(args, n) is None for n in ("concurrency", "output", "rate", "lengths")):
        return of_step(at, options.step(args), **server)
    if args.phase not in (None, "decode") or args.past != "0":
        raise InputError("--phase and --past have no meaning with --output or --concurrency")
    if args.context is not None:
        raise InputError("with --output, say --prompt instead of --context")
    return of_requests(
        at,
        batch=parse_count(args.batch, "--batch"),
        prompt=_length(args.prompt, "--prompt"),
        output=_length(args.output, "--output"),
        concurrency=count("concurrency"),
        rate=None if args.rate is None else _rate(args.rate),
        lengths=args.lengths,
        **server,
    )


def _length(text: str | None, what: str) -> tuple[int, int] | None:
    if text is None:
        return None
    least, _, most = text.partition(":")
    result = parse_count(least, what), parse_count(most or least, what)
    if not 1 <= result[0] <= result[1]:
        raise InputError(f"{what} must be at least 1, or a range such as 500:2k, not '{text[:40]}'")
    return result


def _rate(text: str) -> float:
    match = re.fullmatch(rf"({WHOLE}(?:\.\d+)?)\s*(?:/s|requests/s|req/s)?", text.strip())
    rate = float(plain(match[1])) if match else -1.0
    if not 0 < rate < 1e6:
        raise InputError(
            f"--rate must be requests a second, such as 2.5, not '{text[:40]}'{decimal_hint(text)}"
        )
    return rate

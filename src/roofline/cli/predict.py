"""``roofline predict MODEL --on MACHINE --engine ENGINE``: how fast it will really be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import InputError
from ..screen import columns
from ..units import parse_count
from . import options

if TYPE_CHECKING:
    from ..predict import Prediction, Predictor


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
    options.add_formats(p)
    options.add_parallel(p)
    o = p.add_argument_group("answer")
    o.add_argument("--why", action="store_true", help="the formula, and each coefficient's source")
    options.add_output(o)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    """Predict a step, a batch of requests or a served workload."""
    from ..predict import Predictor, load_profile

    words = options.words(args)
    if args.ceilings:
        raise InputError(
            "--ceilings has no meaning here: prediction starts from the datasheet, and from the "
            "measured matrix product where the machine has one"
        )
    at = Predictor(options.case(args), load_profile(args.engine))
    found = _ask(args, at)
    if args.json:
        import json

        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
        return 0
    from ..predict import say

    width = columns()
    print(say.text(found, words, columns=width))
    if args.why:
        print("\n" + say.why(found, words, columns=width))
    return 0


def _ask(args: argparse.Namespace, at: Predictor) -> Prediction:
    from ..predict import predict_request, predict_served, predict_step

    if args.concurrency is None and args.output is None:
        return predict_step(at, options.step(args))
    if args.phase != "decode" or args.past != "0":
        raise InputError("--phase and --past have no meaning with --output or --concurrency")
    if args.context is not None:
        raise InputError("with --output, say --prompt instead of --context")
    prompt = parse_count(args.prompt or "1024", "--prompt")
    output = parse_count(args.output or "256", "--output")
    if args.concurrency is None:
        return predict_request(at, parse_count(args.batch, "--batch"), prompt, output)
    return predict_served(at, parse_count(args.concurrency, "--concurrency"), prompt, output)

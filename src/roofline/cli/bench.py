"""``roofline bench``: a real engine at batch 1…N, each point under the roof of its own minutes."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..engines.known import canonical
from ..engines.table import ENGINES
from ..errors import InputError, RooflineError
from ..files import demo
from ..files.written import json_text
from ..say import benched
from ..say.screen import columns
from ..units import parse_count, parse_quantity
from . import options


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="a name, a config.json or its folder; with --gguf or --url, what the model is "
        "(default: one that fits)",
    )
    options.add_as(p)
    g = p.add_argument_group("engine")
    g.add_argument(
        "--engine", choices=ENGINES, type=canonical, help="(default: one that is installed)"
    )
    g.add_argument("--weights", metavar="FORMAT", help="torch: bf16, fp16, fp32, int8; llamacpp: "
                   "fp16, q8_0, q4_0, q4_k …")  # fmt: skip
    g.add_argument("--layers", metavar="N", help="run only the first N layers, and say so")
    g.add_argument("--device", metavar="DEVICE", help="torch: cpu, cuda, cuda:1, mps, xpu")
    g.add_argument("--threads", metavar="N", help="CPU threads (default: all)")
    g.add_argument("--gguf", metavar="FILE", help="run this file, not random weights "
                   f"({demo.NAME}: from the extra [demo])")  # fmt: skip
    g.add_argument("--library", metavar="FILE", help="llamacpp: your own libllama")
    g.add_argument("--url", metavar="URL", help="endpoint: http://127.0.0.1:8000")
    g.add_argument("--served-model", metavar="NAME", help="endpoint: what the server calls it")
    g.add_argument("--plain-key", action="store_true", help="endpoint: let the key go over plain "
                   "http to another machine")  # fmt: skip
    g.add_argument("--kv", metavar="FORMAT", help="endpoint: format of the cache")
    g.add_argument("--on", metavar="MACHINE", help="endpoint: where the server runs; 'here' or "
                   "'here:cuda:0' measures this machine's ceilings meanwhile")  # fmt: skip
    g.add_argument("--output", metavar="N", help="endpoint: tokens of an answer (128)")
    g.add_argument(
        "--output-tokens", dest="output", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )  # its former name
    s = p.add_argument_group("what to run")
    s.add_argument("--batch", metavar="LIST", help="1,2,8 or 1:64 (doubling; default 1:16)")
    s.add_argument("--context", metavar="LIST", help="contexts of decode (default 32; endpoint: "
                   "length of the prompt, default 128)")  # fmt: skip
    s.add_argument("--prompt", metavar="LIST", help="prompts of prefill; 0 for none (default 512)")
    s.add_argument("--seconds", metavar="TIME", help="time of a point (default 5s)")
    o = p.add_argument_group("what becomes of it")
    options.add_out(o, "where points go (default: named by engine)", "--points")
    o.add_argument("--resume", action="store_true", help="leave out what the file already has")
    o.add_argument("--dry-run", action="store_true", help="show the plan and how long it takes")
    o.add_argument("--no-roof", action="store_true", help="do not measure this machine's ceilings")
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """Plan, run, place, say."""
    from ..engines import choose, session

    words = options.words(args)
    chosen = choose.choose(_request(args))
    print(benched.plan(chosen, words), file=sys.stderr)
    if args.dry_run:
        return 0
    path = args.out or chosen.points_file
    show = _Show(words)
    ended = session.run(chosen, path, resume=args.resume, roof=not args.no_roof, tell=show)
    points, stopped = list(ended.points), ended.stopped
    if isinstance(stopped, KeyboardInterrupt):
        show.say(words("bench.stopped" if points else "bench.stopped.nothing"))
    if points:
        _report(args, points, chosen.request, words)
        show.say(words("bench.kept" if ended.kept else "bench.not_kept", path=path))
    if isinstance(stopped, RooflineError):
        raise stopped
    if stopped is not None:
        return 130
    return 0 if points else 1


def _request(args: argparse.Namespace) -> Any:
    from ..engines.chosen import ANSWER, SECONDS, BenchRequest

    if args.gguf and args.url:
        raise InputError("--gguf is a file to run here and --url a server's: give one of them")
    return BenchRequest(
        model=args.model,
        as_type=args.as_type,
        engine=args.engine,
        weights=args.weights,
        kv=args.kv,
        layers=_count(args.layers, "--layers"),
        device=args.device,
        threads=_count(args.threads, "--threads"),
        gguf=args.gguf,
        library=args.library,
        url=args.url,
        served_model=args.served_model,
        plain_key=args.plain_key,
        machine=args.on,
        output_tokens=_count(args.output, "--output") or ANSWER,
        batches=_list(args.batch, "--batch"),
        contexts=_list(args.context, "--context"),
        prompts=() if args.prompt == "0" else _list(args.prompt, "--prompt"),
        seconds=parse_quantity(args.seconds, "s", "--seconds") if args.seconds else SECONDS,
    )


def _count(text: str | None, what: str) -> int | None:
    if text is None:
        return None
    value = parse_count(text, what)
    if value < 1:
        raise InputError(f"{what} must be at least 1")
    return value


def _list(text: str | None, what: str) -> tuple[int, ...] | None:
    """`1,2,8`, `1:64` (doubling)."""
    if text is None:
        return None
    from ..bound.sweep import span
    from ..engines.chosen import of_a_run

    return of_a_run(span(text, what), what)


class _Show:
    """Progress on the error output: one line a point, rewritten while it runs on a terminal."""

    def __init__(self, words: Any) -> None:
        self.words = words
        self.live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """A line of its own."""
        print(("\r\033[K" if self.live else "") + text, file=sys.stderr, flush=True)

    def __call__(self, said: Any) -> None:
        """Hear an event or a notice of the run."""
        if hasattr(said, "code"):
            self.say(benched.notice(said, self.words))
        elif said.kind != "start":
            self.say(benched.event(said, self.words))
        elif self.live:
            text = benched.event(said, self.words)
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _report(args: argparse.Namespace, points: list[Any], request: Any, words: Any) -> None:
    """Every point under its roof."""
    from ..api.bench import under_roof
    from ..api.place import line
    from ..placing.judgement import judged
    from ..say.summary import text

    placed, refused = under_roof(points, request)
    if refused is not None:
        print(words("bench.unplaced", reason=str(refused)), file=sys.stderr)
    if args.json:
        for item, gap in judged(placed):
            print(json_text(line(item, gap)))
        return
    if placed:
        print(text(placed, words, columns=columns()))

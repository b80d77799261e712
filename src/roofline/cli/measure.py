"""``roofline measure``: this machine's own ceilings, kept for ``--on here``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RooflineError
from ..files.written import json_text
from ..say.screen import columns
from ..words import Words
from . import options

if TYPE_CHECKING:
    from ..measuring.devices import ProbedDevice
    from ..measuring.session import Result


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument("--list", action="store_true", help="the devices that can be measured here")
    p.add_argument(
        "--device",
        metavar="DEVICE",
        help="cpu, cuda:0, rocm:0, xpu:0, mps (default: the first accelerator, else the CPU)",
    )
    g = p.add_mutually_exclusive_group()
    g.add_argument("--quick", action="store_true", help="about ten seconds, fewer probes")
    g.add_argument("--thorough", action="store_true", help="about three minutes")
    g.add_argument("--seconds", metavar="N", help="so many seconds instead")
    p.add_argument(
        "--force", action="store_true", help="measure and keep the figures on a busy machine too"
    )
    options.add_out(p, "write the machine file there (- is standard output)", "--output")
    p.add_argument("--no-chart", action="store_true", help="words and numbers only")
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """List the devices, or measure one and keep what was found."""
    from ..measuring import devices

    words = options.words(args)
    rows = devices.found() if args.list or args.device != "cpu" else [devices.cpu()]
    if args.list:
        _list(rows, args, words)
        return 0
    return _measure(devices.choose(args.device, rows), args, words)


def _list(rows: list[ProbedDevice], args: argparse.Namespace, words: Words) -> None:
    from ..measuring import devices

    if args.json:
        listed = [{k: getattr(r, k) for k in ("key", "name", "platform", "memory")} for r in rows]
        print(json_text(listed, 2))
        return
    from ..machine import here
    from ..measuring.quiet import Finding
    from ..say import measured as report
    from ..say import table
    from ..units import si

    kept = here.measured()
    head = [words(f"measure.list.{n}") for n in ("device", "name", "memory", "measured")]
    cells = [
        (r.key, r.name, si(r.memory, "B") if r.memory else "-", kept.get(here.slug(r.key), "-"))
        for r in rows
    ]
    print(table.render(head, cells, left=2))
    for kind in devices.unreachable(rows):
        print(words("measure.list.unreachable", kind=kind))
    if not devices.has_kernels():
        print(report.finding(Finding("portable", "note"), words))


def _measure(device: ProbedDevice, args: argparse.Namespace, words: Words) -> int:
    from ..api.measure import described
    from ..measuring import session, store
    from ..measuring.quiet import refused
    from ..say import measured as report
    from ..say.measuring import Live

    asked = options_of(args)
    live = Live(words)
    print(words("measure.begin", name=device.name, device=device.key), file=sys.stderr)
    try:
        result = session.run(device, asked, live)
    finally:
        live.close()
    for seen in result.findings:
        print(report.finding(seen, words), file=sys.stderr)
    for reason in result.refusals:
        print(words("measure.refused", reason=reason), file=sys.stderr)
    if not result.figures:
        if refused(result.findings):
            raise RooflineError(words("measure.busy"))
        raise KeyboardInterrupt
    data = described(result)
    if args.out == "-":
        print(store.text(data), end="")
    elif args.json:
        print(json_text(data, 2))
    else:
        print("\n" + report.figures(data, words) + "\n")
        print(report.meaning(data, words, columns(), chart=not args.no_chart))
    if result.missing:
        names = words.joined(report.name_of(key, words) for key in result.missing)
        print(words("measure.missing", names=names), file=sys.stderr)
    return _keep(data, result, args, words)


def _keep(data: dict[str, Any], result: Result, args: argparse.Namespace, words: Words) -> int:
    from ..api.measure import to_keep
    from ..measuring import record, store
    from ..say import measured as report
    from ..units import percent

    if not (result.keepable or args.force):
        print(words("measure.unkept"), file=sys.stderr)
        return 1
    code = 0 if result.complete else 130
    if args.out == "-":
        return code
    data, path, earlier = to_keep(data, result, args.out)
    try:
        where = store.keep(data, path)
    except RooflineError as error:
        # not even the temporary folder: the figures are in the output above; hand over the file
        print(words("measure.lost", reason=error), file=sys.stderr)
        print(store.text(data), end="")
        return 1
    if where != path:
        print(words("measure.aside", path=path, where=where), file=sys.stderr)
        return 1
    text = words("measure.kept.output" if args.out else "measure.kept", path=path)
    print(text, file=sys.stderr)
    if earlier:
        if lower := record.below(data, earlier):
            down = {"probe": report.name_of(lower[0], words), "down": percent(lower[1])}
            print(
                words("measure.below", **down, date=record.date_of(earlier) or "?"), file=sys.stderr
            )
        print(words("measure.compare", before=store.before(path)), file=sys.stderr)
    return code


def options_of(args: argparse.Namespace) -> Any:
    """What to run, as the command line asks."""
    from ..api.measure import asked

    mode = "quick" if args.quick else "thorough" if args.thorough else "standard"
    seconds = None
    if args.seconds is not None:
        try:
            seconds = float(args.seconds)
        except ValueError:
            raise InputError(
                f"--seconds must be from 1 to 3600, not '{args.seconds[:20]}'"
            ) from None
    return asked(mode, seconds, args.force)

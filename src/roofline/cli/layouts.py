"""Options of a layout over several devices, and what they make."""

from __future__ import annotations

import re
from functools import partial
from itertools import product

from ..parallel.layout import Parallel
from ..units import parse_count, parse_quantity

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

LAYOUT = {
    "tp": "tensor parallel: heads and matrices divided by N",
    "pp": "pipeline parallel: layers divided into N stages",
    "dp": "attention data parallel: sequences divided over N replicas",
    "ep": "expert parallel: experts divided into N shares (over tp × dp)",
    "redundant": "copies of routed experts beside a layer's own, so that they divide by --ep: 32",
    "microbatches": "with --pp: parts that the batch goes through the stages in (default: as many)",
}


def add_parallel(p: argparse.ArgumentParser, *, lists: bool = False) -> None:
    """How the model is laid over several devices, and what joins them."""
    g = p.add_argument_group(
        "several devices",
        "tp × dp × pp of them. Numbers of time and memory are then those of one device, tokens "
        "per second and batches those of all.",
    )
    for name, text in LAYOUT.items():
        several = lists and name in ("tp", "pp", "dp", "ep")
        g.add_argument(
            _spelled(name),
            dest=name,
            metavar="LIST" if several else "N",
            help=f"{text}; 1,2,4,8" if several else text,
        )
    g.add_argument(
        "--dispatch",
        metavar="FORMAT",
        help="with --ep over --dp: format in which tokens go to experts (default: what their "
        "products take in)",
    )
    g.add_argument(
        "--combine", metavar="FORMAT", help="the same of results on their way back (default: bf16)"
    )
    g.add_argument(
        "--link",
        metavar="LINK",
        help="what joins them: a link of the machine by name, or bytes/s of one device in one "
        "direction such as 25GB/s (default: the fastest that joins enough)",
    )
    g.add_argument(
        "--link-latency",
        metavar="TIME",
        help="of a message between them: 5us, 0.5ms (default: the link's)",
    )


def _spelled(name: str) -> str:
    return "--redundant-experts" if name == "redundant" else f"--{name}"


def parallel(args: argparse.Namespace) -> dict[str, Any]:
    """The layout over devices, and what joins them: keyword arguments of a case.

    None for a verb without these options.

    Raises:
        InputError: not a layout, or not a link.
    """
    if not hasattr(args, "link_latency"):
        return {}
    given = {n: getattr(args, n) for n in LAYOUT if getattr(args, n) is not None}
    return _layout(given, _exchanged(args), **_links(args))


def layouts(args: argparse.Namespace) -> list[Callable[[], dict[str, Any]]]:
    """One :func:`parallel` for each of the layouts listed, each made when called: some of them
    may not divide."""
    given = {n: getattr(args, n) for n in LAYOUT if getattr(args, n) is not None}
    links = _links(args)
    choices = product(*(text.split(",") for text in given.values()))
    result = [dict(zip(given, choice, strict=True)) for choice in choices]
    return [partial(_layout, one, _exchanged(args), **links) for one in result]


def _exchanged(args: argparse.Namespace) -> dict[str, str | None]:
    return {"dispatch": args.dispatch, "combine": args.combine}


def _layout(given: dict[str, str], formats: dict[str, Any], **links: Any) -> dict[str, Any]:
    counts: dict[str, Any] = {n: parse_count(text, _spelled(n)) for n, text in given.items()}
    layout = Parallel(**counts, **formats)
    return {"parallel": None if layout.single else layout, **links}


def _links(args: argparse.Namespace) -> dict[str, Any]:
    link: str | float | None = args.link
    if args.link is not None and re.match(r"[0-9.]", args.link):
        link = _link_bandwidth(args.link)
    latency = args.link_latency
    return {
        "link": link,
        "latency": None if latency is None else parse_quantity(latency, "s", "--link-latency"),
    }


def _link_bandwidth(text: str) -> float:
    bits = re.fullmatch(r"(.*[0-9 kMGT])(?:b/s|bps|bit/s)", text.strip())  # a small b: bits
    if bits:
        return parse_quantity(bits[1], "B/s", "--link") / 8
    return parse_quantity(text, "B/s", "--link")

"""The picture for print, drawn with Matplotlib (the extra ``plot``).

    ax = roofline.plot("llama-3.1-8b", "h100-sxm")            # a new figure
    roofline.plot("qwen3-8b", "rtx-4090", weights="int4", ax=ax)   # into one of yours

The axes are Matplotlib's own logarithmic ones in FLOP/byte and FLOP/s, so everything that
one does with axes works; only labels are placed by roofline, so that none overlaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import words as _words
from ..bound.case import DEFAULT_USABLE
from ..bound.explanation import Explanation, explain
from ..chart.layout import Mark, Plane, Stroke, lay_out
from ..chart.picture import draw
from ..count.step import Step
from ..errors import InputError, MissingExtra
from ..files.whole import writing_bytes
from ..machine.machine import Machine
from ..model.formats import Format
from ..model.model import Model
from ..parallel.layout import Parallel
from ..spelled import spelled
from ..units import digits
from . import capacity

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

FORMATS = ("svg", "png", "pdf")
ACCENT, INK, SOFT = "#0b62a4", "#1b1d20", "#595d63"

_LINE: dict[str, dict[str, Any]] = {
    "datasheet": {"color": ACCENT, "lw": 1, "ls": (0, (6, 4))},
    "measured": {"color": ACCENT, "lw": 1.6},
    "ridge": {"color": ACCENT, "lw": 0.9, "ls": (0, (1, 3))},
    "ghost": {"color": SOFT, "lw": 1, "ls": (0, (1, 2))},
    "path": {"color": ACCENT, "lw": 3.4, "solid_capstyle": "round"},
    "rest": {"color": ACCENT, "lw": 1.4, "alpha": 0.55},
    "wall": {"color": INK, "lw": 1.3},
}
_MARK: dict[str, dict[str, Any]] = {
    "stop": {"marker": "o", "ms": 4.5, "mfc": "white", "mec": ACCENT},
    "hollow": {"marker": "o", "ms": 7, "mfc": "white", "mec": ACCENT, "mew": 1.4},
    "prefill": {"marker": "D", "ms": 6, "mfc": "white", "mec": ACCENT, "mew": 1.4},
    "here": {"marker": "o", "ms": 7.5, "mfc": ACCENT, "mec": "white"},
    "ghost": {"marker": "o", "ms": 3, "mfc": "white", "mec": SOFT, "mew": 0.8},
}


@spelled(
    model=(
        "a model's name, a path, a Model or an Explanation",
        "str",
        "PathLike",
        "Model",
        "Explanation",
    )
)
def plot(
    model: Model | str | PathLike[str] | Explanation,
    machine: Machine | str | PathLike[str] | None = None,
    step: Step | None = None,
    *,
    batch: int | None = None,
    context: int | None = None,
    ax: Axes | None = None,
    language: str | None = None,
    title: bool = True,
    foot: str = "",
    weights: str | Format | None = None,
    kv: str | Format | None = None,
    compute: str | None = None,
    ceilings: str | None = None,
    usable: float = DEFAULT_USABLE,
    parallel: Parallel | None = None,
    link: str | float | None = None,
    latency: float | None = None,
    as_type: str | None = None,
) -> Axes:
    """Draw a step under its roof.

    Args:
        model, machine, step: as for :func:`roofline.explain`; or an answer of it alone.
        ax: axes to draw into; by default those of a new figure.
        language: ``en`` or ``zh``; by default the locale's.
        title: whether model, formats, step and machine go above it.
        foot: a small line below a new figure, such as :func:`sources_of` gives.
        batch, context, weights, kv, compute, ceilings, usable, parallel, link, latency, as_type:
            as for :func:`roofline.explain`.

    Raises:
        MissingExtra: Matplotlib is not installed.
        RooflineError: a name, file, format or precision that cannot be used.
        TypeError: an unknown keyword, or a value of another kind.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "the figure") from None
    if isinstance(model, Explanation):
        e = model
    elif machine is None:
        raise InputError("a plot needs a machine: plot(model, machine)")
    else:
        e = explain(
            model, machine, step, batch=batch, context=context, weights=weights, kv=kv,
            compute=compute, ceilings=ceilings, usable=usable, parallel=parallel, link=link,
            latency=latency, as_type=as_type,
        )  # fmt: skip
    words = _words.choose(language)
    if ax is None:
        figure = Figure(figsize=(7.2, 4.6), dpi=100, layout="constrained")
        ax = figure.add_subplot()
        if foot:
            figure.supxlabel(foot, fontsize=5.5, color=SOFT, x=0.01, ha="left", wrap=True)
    _draw(ax, e, words, title)
    return ax


def save(ax: Axes, path: str, subject: str = "") -> None:
    """Write the figure; ``subject`` goes into the file's own description.

    Raises:
        InputError: no such format, or the file cannot be written.
    """
    kind = path.rsplit(".", 1)[-1].lower()
    if kind not in FORMATS:
        raise InputError(f"{path}: a figure is written as .svg, .png or .pdf")
    described = {"svg": "Description", "png": "Description", "pdf": "Subject"}[kind]
    figure: Any = ax.figure
    try:
        with writing_bytes(path) as file:
            figure.savefig(file, format=kind, dpi=200, metadata={described: subject})
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None


def sources_of(e: Explanation) -> str:
    """Where the figures in the picture come from, each with its date."""
    used = [figure for _, figure in e.case.arithmetic.values()]
    result = [", ".join(x for x in (f.source, f.date) if x) for f in (e.case.roof.bandwidth, *used)]
    return "; ".join(dict.fromkeys(x for x in (*result, e.case.model.source) if x))


def _draw(ax: Axes, e: Explanation, words: _words.Words, title: bool) -> None:
    from .titles import title as title_of

    figure: Any = ax.figure
    fonts = _fonts(words)
    ax.set_xscale("log")
    ax.set_yscale("log")
    drawn = draw(e.case, e.step)
    ax.set_xlabel(drawn.axis(words), fontfamily=fonts)
    ax.set_ylabel(words("chart.y"), fontfamily=fonts)
    if title:
        above = [title_of(e, words)]
        above += [
            f"{label}: {why}" for label, why in capacity.lines(e.case, e.step, e.fit, words)[:1]
        ]
        ax.set_title("\n".join(above), fontsize=9, loc="left", fontfamily=fonts, wrap=True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(True, color="#e6e3dd", lw=0.6)
    ax.set_axisbelow(True)
    figure.draw_without_rendering()  # settles the size of the axes in pixels
    box = ax.get_window_extent()
    points = figure.dpi / 72
    plane = lay_out(
        drawn,
        e.case,
        words,
        width=box.width,
        height=box.height,
        ruler=_ruler(figure, fonts),
        line=10.5 * points,
        margins=(0, 0, 0, 0),
        scale=points,
    )
    ax.set_xlim(plane.x)
    ax.set_ylim(plane.y)
    ax.xaxis.set_major_formatter(lambda v, _: digits(v))
    back = ax.transData.inverted()
    _put(ax, plane, lambda x, y: tuple(back.transform((box.x0 + x, box.y1 - y))), fonts)


def _put(ax: Axes, plane: Plane, at: Callable[[float, float], Any], fonts: list[str]) -> None:
    def line(stroke: Stroke, z: int) -> None:
        xs, ys = zip(*(at(x, y) for x, y in stroke.points), strict=True)
        ax.plot(xs, ys, zorder=z, **_LINE[stroke.kind])

    def mark(m: Mark, z: int) -> None:
        x, y = at(m.x, m.y)
        ax.plot([x], [y], zorder=z, ls="", **_MARK[m.kind])

    for stroke in plane.strokes:
        if stroke.points:
            line(stroke, 3)
    for m in plane.marks:
        mark(m, 4)
    for label, place in plane.labels:
        x, y = at(place.x0 + 2, (place.y0 + place.y1) / 2)
        ax.text(
            x,
            y,
            label.text,
            fontsize=7.5,
            va="center",
            color=SOFT if label.kind == "quiet" else ACCENT,
            fontweight="bold" if label.kind == "strong" else "normal",
            fontfamily=fonts,
            zorder=5,
            clip_on=True,
        )


def _fonts(words: _words.Words) -> list[str]:
    # Matplotlib's own font lacks many scripts: a language names fonts that have its own.
    from matplotlib import rcParams

    own = list(rcParams["font.family"])
    named = [name.strip() for name in words("chart.fonts").split(",") if name.strip()]
    if not named:
        return own
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return [*own, *(name for name in named if name in installed)]


def _ruler(figure: Any, fonts: list[str]) -> Callable[[str], float]:
    from matplotlib.text import Text

    def width(text: str) -> float:
        probe = Text(0, 0, text, fontsize=7.5, fontweight="bold", fontfamily=fonts, figure=figure)
        return float(probe.get_window_extent().width)

    return width

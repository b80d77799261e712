"""The picture, the words and the table without any script: what is painted first.

Everything is plain HTML and SVG. The colours are attributes that the page's style sheet may
override, so that the picture stands by itself as well, in a notebook or a mail.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from ..bound.explanation import Explanation
from ..chart import picture
from ..chart.layout import Plane, lay_out
from ..chart.place import Box
from ..chart.terminal import width_of
from ..say import answer, titles
from ..units import count, digits, seconds, si
from ..words import Words

WIDTH, HEIGHT = 760, 456
_INK = {
    "datasheet": 'stroke="#0b62a4" stroke-width="1.25" stroke-dasharray="6 4"',
    "measured": 'stroke="#0b62a4" stroke-width="2"',
    "ridge": 'stroke="#0b62a4" stroke-dasharray="1 4" stroke-linecap="round"',
    "ghost": 'stroke="currentColor" stroke-width="1.5" stroke-dasharray="1.5 4"',
    "path": 'stroke="#0b62a4" stroke-width="5" stroke-linecap="round"',
    "rest": 'stroke="#0b62a4" stroke-width="2" stroke-opacity="0.55"',
    "wall": 'stroke="currentColor" stroke-width="1.75"',
}
_CLASS = {
    "datasheet": "roof datasheet s0",
    "measured": "roof measured s0",
    "ridge": "ridge s0",
    "ghost": "ghost",
    "path": "path s0",
    "rest": "path rest s0",
    "wall": "wall",
}
_MARK = {"stop": 4, "hollow": 6, "here": 6, "ghost": 2.5}
_MARK_CLASS = {"stop": "stop s0", "hollow": "hollow s0", "here": "here s0", "ghost": "ghost"}


def svg(e: Explanation, words: Words, width: float = WIDTH, height: float = HEIGHT) -> str:
    """The picture as one SVG element."""
    drawn = picture.draw(e.case, e.step)
    plane = lay_out(
        drawn,
        e.case,
        words,
        width=width,
        height=height,
        ruler=text_width,
    )
    parts = "".join(_parts(plane, drawn.axis(words), words))
    title = f"{titles.title(e, words)}. {': '.join(answer.verdict(e, words))}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="none">'
        f"<title>{html.escape(title)}</title>{parts}</svg>"
    )


def text_width(text: str) -> float:
    """Pixels that a label takes, at most."""
    # Narrow enough for the sans-serif faces of all systems; wide characters are 12 pixels.
    wide = width_of(text) - len(text)
    return 6.9 * (len(text) - wide) + 12 * wide


def _parts(plane: Plane, along: str, words: Words) -> Iterable[str]:
    a = plane.area
    for x, text in plane.x_ticks:
        yield f'<path class="grid" stroke="#8884" d="M{x:.1f} {a.y0:g}V{a.y1:g}"/>'
        yield _text(x, a.y1 + 17, text, "tick", "middle")
    for y, text in plane.y_ticks:
        yield f'<path class="grid" stroke="#8884" d="M{a.x0:g} {y:.1f}H{a.x1:g}"/>'
        yield _text(a.x0 - 6, y + 4, text, "tick", "end")
    yield f'<path class="axis" stroke="#888" d="M{a.x0:g} {a.y0:g}V{a.y1:g}H{a.x1:g}"/>'
    yield _text(2, 13, words("chart.y"), "title", "start")
    yield _text(a.x1, a.y1 + 34, along, "title", "end")
    for stroke in plane.strokes:
        if not stroke.points:  # a path of which no batch fits
            continue
        d = "L".join(f"{x:.1f} {y:.1f}" for x, y in stroke.points)
        yield f'<path class="{_CLASS[stroke.kind]}" {_INK[stroke.kind]} d="M{d}"/>'
    for mark in plane.marks:
        x, y = mark.x, mark.y
        if mark.kind == "prefill":
            shape = f"M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z"
            ink = 'fill="#fff" stroke="#0b62a4" stroke-width="2"'
            yield f'<path class="prefill s0" {ink} d="{shape}"/>'
            continue
        ink = 'fill="#fff" stroke="#0b62a4" stroke-width="2"'
        if mark.kind == "here":
            ink = 'fill="#0b62a4" stroke="#fff" stroke-width="1.5"'
        kind, r = _MARK_CLASS[mark.kind], _MARK[mark.kind]
        yield f'<circle class="{kind}" {ink} cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    for label, box in plane.labels:
        yield _label(label.text, label.kind, box)


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return (
        f'<text class="{kind}" fill="currentColor" x="{x:.1f}" y="{y:.1f}" '
        f'text-anchor="{anchor}">{html.escape(text)}</text>'
    )


def _label(text: str, kind: str, box: Box) -> str:
    colour = "currentColor" if kind == "quiet" else "#0b62a4"
    weight = ' font-weight="600"' if kind == "strong" else ""
    return (
        f'<text class="label {kind} s0" fill="{colour}"{weight} '
        f'x="{box.x0 + 2:.1f}" y="{box.y1 - 4:.1f}">{html.escape(text)}</text>'
    )


def table(e: Explanation, words: Words) -> str:
    """The marks of the picture as an HTML table."""
    drawn = picture.draw(e.case, e.step)
    names = (
        "sweep.batch", "table.intensity", "chart.y", "table.seconds", "sweep.speed", "table.bound",
    )  # fmt: skip
    head = "".join(f'<th scope="col">{html.escape(words(n))}</th>' for n in names)
    rows = []
    decode = picture.path(e.step)
    for tick in drawn.ticks:
        batch = int(tick.label)
        b = e.case.bound(decode.with_batch(batch))
        mark = "({})" if e.fit.holds(batch) is False else "{}"  # what it would be if it fitted
        cells = (
            count(batch),
            digits(b.intensity),
            si(b.flops / b.overlapped_s, "FLOP/s"),
            mark.format(seconds(b.overlapped_s)),
            mark.format(digits(b.tokens_per_s)),
            words(f"label.{b.binds}"),
        )
        first, *rest = (html.escape(c) for c in cells)
        columns = "".join(f"<td>{c}</td>" for c in rest)
        rows.append(f'<tr><th scope="row">{first}</th>{columns}</tr>')
    caption = html.escape(titles.step_words(decode, words))
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def still(e: Explanation, words: Words) -> str:
    """Picture, words and table of an answer, as HTML."""
    (name, because), *others = answer.lines(e, words)
    sentences = "".join(
        f'<p><span class="name">{html.escape(label)}</span> {html.escape(sentence)}</p>'
        for label, sentence in others
    )
    return (
        '<div class="stage"><div class="picture still">'
        f'<h2 class="title">{html.escape(titles.title(e, words))}</h2>'
        f'<figure class="chart" tabindex="0">{svg(e, words)}</figure></div>'
        f'<section class="panel"><p class="verdict">{html.escape(name)}</p>'
        f'<p class="because">{html.escape(because)}</p>{sentences}</section></div>'
        f'<div class="scroll" tabindex="0" role="group">{table(e, words)}</div>'
    )

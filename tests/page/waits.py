"""Waiting for what a page says of itself, never for a time: a loaded machine takes its own."""

from __future__ import annotations

from typing import Any

UNTIL = """([test, argument]) => new Promise((done, fail) => {
    const end = performance.now() + 20000;
    const look = () => {
        if (tests[test](argument)) done();
        else if (performance.now() > end) fail(new Error(`${test} ${argument}: not in 20 s`));
        else setTimeout(look, 5);
    };
    const busy = (root) => root.querySelector("[aria-busy=true]") !== null
        || [...root.querySelectorAll("roofline-chart")].some((e) => busy(e.shadowRoot));
    const tests = {
        settled: () => !busy(document),
        addressed: (part) => location.hash.includes(part),
    };
    // What was done may have left events to come: they do before the next frame is over.
    requestAnimationFrame(() => setTimeout(look));
})"""
GO = """(hash) => new Promise((done) => {
    const before = location.href;
    addEventListener("hashchange", done, { once: true });
    location.hash = hash;
    if (location.href === before) done();
})"""


def settled(page: Any) -> None:
    """Until the words of every view on the page are those of its state."""
    page.evaluate(UNTIL, ["settled", ""])


def addressed(page: Any, part: str) -> None:
    """Until ``part`` is in the address, which follows the last change; settled."""
    page.evaluate(UNTIL, ["addressed", part])
    settled(page)


def go(page: Any, hash: str) -> None:
    """To another address of the same page, as a link in it does; settled."""
    page.evaluate(GO, hash)
    settled(page)


def recorded(page: Any) -> str:
    """The address of what is shown now: whoever leaves the page records it at once."""
    settled(page)
    page.evaluate("dispatchEvent(new Event('pagehide'))")
    return str(page.evaluate("location.hash"))

"""The page: one self-contained HTML file that computes and draws what the core emits.

    from roofline.page import page, fragment

    page("llama-3.1-8b", on="h100-sxm")        # a whole document, as text
    fragment(explanation)                      # for a notebook: <roofline-chart> with its script
    element_module(["llama-3.1-8b"], ["h100-sxm"])   # one ES module for other people's pages

The parts: ``data`` and ``factors`` say what a page knows, ``bundle`` and ``build`` put it
together, ``still`` draws what is seen before any script, ``serve`` answers for a live page;
``web/`` holds the page's own HTML, modules, style and words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .make import element_module, fragment, page

__all__ = ["element_module", "fragment", "page"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'roofline.page' has no attribute '{name}'")
    from . import make

    return getattr(make, name)

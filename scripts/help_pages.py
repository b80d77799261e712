"""Write docs/en/help.md from --help; a test holds the file to it."""

from __future__ import annotations

import argparse
import os

os.environ["COLUMNS"] = "96"

PATH = os.path.join(os.path.dirname(__file__), "..", "docs", "en", "help.md")
HEAD = """# Help of every verb

Written by `make docs` from `--help`; a test holds it there.
"""


def page() -> str:
    """The whole page."""
    from roofline.cli import parser

    top = parser()
    out = [HEAD, "## roofline\n", "```text", top.format_help().rstrip(), "```"]
    verbs = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    for verb, sub in verbs.choices.items():
        out += [f"\n## roofline {verb}\n", "```text", sub.format_help().rstrip(), "```"]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(page())

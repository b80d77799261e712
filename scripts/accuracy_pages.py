"""Write the tables of docs/*/accuracy.md: ``python scripts/accuracy_pages.py FOLDER``.

The tables are what ``roofline validate FOLDER --markdown`` prints, between two markers; the
words around them are written by hand. The evaluation runs once for both languages.
"""

from __future__ import annotations

import os
import sys

ROOT = os.path.join(os.path.dirname(__file__), "..")
sys.path.insert(0, os.path.join(ROOT, "src"))

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def main(folder: str) -> None:
    """Evaluate, and put the tables into both pages."""
    from roofline.evaluate.run import evaluate
    from roofline.say.evaluated import markdown
    from roofline.words import Words

    scores = evaluate(folder, tell=lambda name: print(name, flush=True))
    for language in ("en", "zh"):
        path = os.path.join(ROOT, "docs", language, "accuracy.md")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        tables = markdown(scores, Words(language))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n\n{tables}\n{END}{after}")


if __name__ == "__main__":
    main(sys.argv[1])

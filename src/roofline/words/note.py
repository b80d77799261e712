"""A note: a code with values, which is its English sentence wherever it is a string.

So data, JSON and errors carry a sentence that anybody can read, and :mod:`roofline.say` says the
same in another language.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import FILES, SOURCE, texts

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any


class Note(str):
    """An assumption or caveat of an answer.

    Args:
        code: names its sentence, ``note.<code>`` of a language's texts.
        values: what stands in its places: texts and numbers, other notes, or several of these.

    >>> note = Note("dtype.served", format="fp32")
    >>> note, note.code
    ('stored in fp32, counted as engines serve it, in bf16', 'dtype.served')
    """

    __slots__ = ("code", "values")

    code: str
    values: dict[str, Any]

    def __new__(cls, code: str, **values: Any) -> Note:
        """The sentence of a code with its values filled in."""
        english = texts(FILES[0], SOURCE)
        said = {name: listed(value, english) for name, value in values.items()}
        made = super().__new__(cls, english[f"note.{code}"].format(**said))
        made.code, made.values = code, values
        return made

    def __reduce__(self) -> Any:
        return _again, (self.code, self.values)


def _again(code: str, values: dict[str, Any]) -> Note:
    return Note(code, **values)


def listed(value: Any, texts: Any) -> Any:
    """Several things as ``a, b and c`` by a language's joints; anything else as it is."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    *first, last = (str(part) for part in value)
    start = texts["joint.list"].join(first)
    return f"{start}{texts['joint.last']}{last}" if first else last

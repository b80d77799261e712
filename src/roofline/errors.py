"""What can go wrong, as a tree. Each message is for the person who reads it.

RooflineError             anything that roofline itself reports; exit code 1
├── InputError            a file or an argument is wrong: what, where, what to do; exit code 2
│   ├── NotFound          no model, machine or file of that name; near misses are suggested
│   └── UnsupportedError  understood, but not something roofline can count; named, never guessed
└── MissingExtra          a library is needed that is not here; the message has the install command
"""

MOST = 2000
"""Characters of a message at most."""


def plain(text: str, most: int = MOST) -> str:
    """Text that others wrote, fit to be shown: one line, no control characters, so long at most.

    A message must not be able to forge a line of ours, or to steer a terminal.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


class RooflineError(Exception):
    """Anything that roofline itself reports: one sentence, no traceback."""

    exit_code = 1

    def __init__(self, *said: object) -> None:
        super().__init__(*(plain(x) if isinstance(x, str) else x for x in said))


class InputError(RooflineError):
    """A file or an argument is wrong."""

    exit_code = 2


class NotFound(InputError):
    """No model, machine or file has that name."""


class UnsupportedError(InputError):
    """A part that roofline cannot count; it is refused by name, never guessed."""


class MissingExtra(RooflineError):
    """A library is needed for this that is not here."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        from .install import command

        super().__init__(f"{purpose} needs {library}: {command(extra)}")
        self.library = library
        self.extra = extra

"""What can go wrong, as a tree. Each message is for the person who reads it.

RooflineError             anything that roofline itself reports; exit code 1
├── InputError            a file or an argument is wrong: what, where, what to do; exit code 2
│   ├── NotFound          no model, machine or file of that name; near misses are suggested
│   └── UnsupportedError  understood, but not something roofline can count; named, never guessed
└── MissingExtra          a library is needed that is not here; the message has the install command
"""


class RooflineError(Exception):
    """Anything that roofline itself reports: one sentence, no traceback."""

    exit_code = 1


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

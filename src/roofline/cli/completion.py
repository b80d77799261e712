"""``roofline completion SHELL``: a completion script, made by shtab from the parser."""

from __future__ import annotations

import argparse

from ..errors import MissingExtra

SHELLS = ("bash", "zsh", "tcsh")


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument("shell", choices=SHELLS, help="bash, zsh or tcsh")
    p.epilog = (
        "bash: roofline completion bash > ~/.local/share/bash-completion/completions/roofline"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise MissingExtra("shtab", "completion", "completion") from None
    from . import parser

    print(shtab.complete(parser(), args.shell))
    return 0

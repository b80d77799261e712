"""``roofline completion SHELL``: a completion script, made by shtab from the parser."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "tcsh")


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument("shell", choices=SHELLS, help="bash, zsh or tcsh")
    p.epilog = (
        "bash: roofline completion bash > ~/.local/share/bash-completion/completions/roofline"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from . import parser

    print(shtab.complete(parser(), args.shell))
    return 0

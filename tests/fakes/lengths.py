"""Requests of one size."""

from roofline.predicting.lengths import Lengths, between


def fixed(prompt: int, output: int) -> Lengths:
    """Always so many tokens."""
    return between((prompt, prompt), (output, output))

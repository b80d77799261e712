"""Models: from a config or a catalogue name to operators."""

from .model import Layer, Model

__all__ = ["Layer", "Model"]

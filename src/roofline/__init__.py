"""roofline: which ceiling an LLM hits, by how much, and what would change it."""

__version__ = "0.1.0"

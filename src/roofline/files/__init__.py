"""Checkpoint files: what is in them, from their headers alone.

``gguf``, ``safetensors``    one reader a format; no tensor is ever read
``hub``, ``ollama``          names to files: the Hugging Face cache, Ollama's local store

A file is somebody else's: every count in it is checked against its size and against a limit
before it is believed, and a fault is one sentence.
"""

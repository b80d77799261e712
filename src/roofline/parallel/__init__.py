"""A model split over several devices: what each does, and what they tell each other."""

from .layout import Parallel

__all__ = ["Parallel"]

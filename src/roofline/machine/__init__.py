"""Machines: ceilings with value, precision, kind, date and source."""

from .machine import Ceilings, Figure, Link, Machine, Roof

__all__ = ["Ceilings", "Figure", "Link", "Machine", "Roof"]

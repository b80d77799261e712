"""Machines: ceilings with value, precision, kind, date and source."""

from .load import load
from .machine import Ceilings, Figure, Link, Machine, Roof

__all__ = ["Ceilings", "Figure", "Link", "Machine", "Roof", "load"]

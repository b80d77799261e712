"""Placing measured points under a roof: how far below it, and why.

`placed`: a point's work and its share of the roof. `gap`: the verdict for what is missing, with
causes in order. `judgement`: one judgement of many points. `suspect`: what may explain a point
above its roof. `climb`: what a growing batch really did. `resolve`: model, formats and machine of
a point, or the options that are missing.
"""

from .cause import Cause
from .gap import Gap, judge
from .placed import Placed, place

__all__ = ["Cause", "Gap", "Placed", "judge", "place"]

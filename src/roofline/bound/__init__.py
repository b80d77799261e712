"""A model under a machine's ceilings: bound, verdict, sweep, and what fits.

`case`: a model in given formats under one roof, its bound, climb and fit. `chain`, `arrays`: the
same prices over one step and over arrays of steps. `verdict`: codes and levers. `hold`: what does
not fit, and what would hold it. `explanation`: the answer. `sweep`: many steps. `achieved`,
`counters`: what somebody measured, held against a bound.
"""

from .case import Case
from .chain import Bound, OperatorBound
from .outcomes import Climb, Fit

__all__ = ["Bound", "Case", "Climb", "Fit", "OperatorBound"]

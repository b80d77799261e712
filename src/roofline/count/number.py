"""Numbers that may be arrays: one formula for a step and for many at once.

A number is an int or a float, or a NumPy array of float64; what differs between them is here.
"""

from __future__ import annotations

from operator import index

from ..errors import InputError

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

    Number = Any
else:
    Number = object
"""An int, a float, or a NumPy array of them."""

LARGEST = 1 << 40
"""No batch, prompt or context beyond this: products stay exact and finite."""


def whole(name: str, value: Number, least: int) -> Number:
    """A count as the formulas take it: an int, or an array of float64.

    NumPy's own integers have a width, and what is multiplied beyond it comes out wrong without a
    word: they become Python's. Whole arrays become float64, exact up to 2^53.
    """
    if type(value) is not int:
        if isinstance(value, bool | float | str) or value is None:
            raise InputError(f"{name} must be a whole number, not {value!r}")
        try:
            value = index(value)
        except TypeError:
            return _whole_array(name, value, least)
    if not least <= value <= LARGEST:
        shown = value if abs(value) < 10**30 else "a number of more than 30 digits"
        raise InputError(f"{name} must be from {least} to 2^40, not {shown}")
    return value


def settled(name: str, value: Number, least: int) -> Number:
    """The same, of means too: a float is taken, where it is more than nothing.

    Raises:
        InputError: none of these, or out of range.
    """
    if isinstance(value, float):
        if not (0 < value <= LARGEST or value == least == 0):
            raise InputError(f"{name} must be from {least} to 2^40, not {float(value)!r}")
        return float(value)
    return whole(name, value, least)


def _whole_array(name: str, value: Number, least: int) -> Number:
    import numpy as np

    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not isinstance(value, np.ndarray) or kind not in "iuf" or value.ndim != 1 or not value.size:
        raise InputError(
            f"{name} must be a whole number, or a NumPy array of them in one dimension"
        )
    result = value.astype(np.float64)
    if not (np.isfinite(result).all() and result.min() >= least and result.max() <= LARGEST):
        raise InputError(f"{name} must be from {least} to 2^40, everywhere in the array")
    return result


def is_array(x: Number) -> bool:
    """Whether it is an array, whatever its length."""
    return hasattr(x, "shape") and x.shape != ()


def smaller(a: Number, b: Number) -> Number:
    """The smaller one, element by element."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return min(a, b)
    import numpy as np

    return np.minimum(a, b)


def larger(a: Number, b: Number) -> Number:
    """The larger one, element by element."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return max(a, b)
    import numpy as np

    return np.maximum(a, b)


def where(condition: Number, yes: Number, no: Number) -> Number:
    """One or the other, element by element."""
    if not is_array(condition):
        return yes if condition else no
    import numpy as np

    return np.where(condition, yes, no)


def length(*numbers: Number) -> int:
    """How many steps numbers and arrays of one length are together.

    Raises:
        InputError: arrays of several lengths.
    """
    sizes = {len(x) if is_array(x) else 1 for x in numbers}
    if len(sizes - {1}) > 1:
        shown = ", ".join(str(n) for n in sorted(sizes - {1}))
        raise InputError(f"a step's arrays must be of one length; these have {shown}")
    return max(sizes)

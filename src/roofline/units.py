"""Numbers with units, for people. Inside, everything is in SI base units."""

from __future__ import annotations

import math
import re

from .errors import InputError
from .pattern import pattern

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
WHOLE = r"(?:[1-9]\d{0,2}(?:,\d{3}){1,5}|[1-9]\d{0,2}(?:_\d{3}){1,5}|\d{1,18})"
"""Digits, or groups of three set apart by one kind of mark: 2048, 2,048, 1_000_000."""
_COUNT = pattern(rf"({WHOLE}(?:\.\d{{1,6}})?)\s*(k|ki|m|mi)?\Z", re.IGNORECASE)


def digits(value: float, figures: int = 3) -> str:
    """A number to so many significant figures, never in powers of ten below 10^15."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.{figures}g}"
    if "e" not in text:
        return text
    number = float(text)
    if abs(number) >= 1e15 or abs(number) < 1e-6:
        return text
    return f"{number:.0f}" if abs(number) >= 1 else f"{number:.{figures + 5}f}".rstrip("0")


def si(value: float, unit: str, figures: int = 3) -> str:
    """A number with the SI prefix that suits it: ``3.35 TB/s``."""
    for factor, prefix in _PREFIXES:
        if float(f"{abs(value):.{figures}g}") >= factor:
            return f"{digits(value / factor, figures)} {prefix}{unit}"
    return f"{digits(value, figures)} {unit}"


def memory(value: float) -> str:
    """A memory's size as its vendor means it: ``80 GiB`` where it is whole GiB, else ``96 GB``."""
    gib = value / (1 << 30)
    return f"{digits(gib, 4)} GiB" if gib >= 1 and gib.is_integer() else si(value, "B", 4)


def seconds(value: float) -> str:
    """A time: ``4.56 ms``."""
    for factor, prefix in _SMALL:
        if float(f"{abs(value):.3g}") >= factor:
            return f"{digits(value / factor)} {prefix}s"
    return f"{digits(value / 1e-9)} ns" if value else "0 s"


def percent(fraction: float) -> str:
    """A share: whole per cents, one or two figures below ten."""
    value = 100 * fraction
    if value >= 9.95:
        return f"{value:.0f} %"
    return f"{digits(value, 2)} %"


def gain(value: float) -> str:
    """A factor: ``1.94×``."""
    return f"{value:.2f}×" if value < 10 else f"{digits(value)}×"


def count(value: int) -> str:
    """A whole number with its thousands set apart."""
    return f"{value:,}"


def tokens(value: int) -> str:
    """A number of tokens as it is typed: ``32k`` where it is whole powers of two."""
    return f"{value // 1024}k" if value >= 1024 and value % 1024 == 0 else str(value)


def plain(number: str) -> str:
    """The digits of a number whose groups are well formed, without the marks between them."""
    return number.replace(",", "").replace("_", "")


def parse_count(text: str, what: str) -> int:
    """``2048``, ``2,048``, ``2k`` (2048: contexts go by powers of two), ``1m``, ``8ki``.

    Raises:
        InputError: not a whole number, or several of them.
    """
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)  # the usual case, without the pattern
    match = _COUNT.match(text.strip())
    if match:
        number, suffix = plain(match[1]), (match[2] or "").lower()
        factor = {"": 1, "k": 1024, "ki": 1024, "m": 1 << 20, "mi": 1 << 20}[suffix]
        if "." not in number:
            return int(number) * factor
        value = float(number) * factor
        if suffix and value.is_integer():
            return int(value)
    raise InputError(
        f"{what} must be a whole number such as 2048, 2k or 1m, not '{text[:40]}'{list_hint(text)}"
    )


_LIST = pattern(r"\s*[,;:，、；：]\s*")
_DECIMAL = pattern(r"\d+[,，]\d+(?![\d,，])")


def list_hint(text: str) -> str:
    """What to do, for a message, where several numbers stand in place of one; or nothing."""
    items = _LIST.split(text.strip())
    if len(items) > 1 and all(_COUNT.match(item) for item in items):
        return "; for several values at once, 'roofline sweep' takes lists"
    return ""


def decimal_hint(text: str) -> str:
    """What to do, for a message, where a comma stands in place of a point; or nothing."""
    return "; write decimals with a point, as in 15.4" if _DECIMAL.search(text) else ""


_QUANTITY = pattern(
    rf"({WHOLE}(?:\.\d{{1,9}})?(?:e[+-]?\d{{1,2}})?)\s*([kMGTPEmµun]?)(i?)([A-Za-z/]*)\Z"
)
_RATES = (
    (pattern(r"Bps\Z", re.IGNORECASE), "B/s"),
    (pattern(r"(?:FLOPS|(?<!FL)OPS|(?<!FL)OP/s)\Z", re.IGNORECASE), "FLOP/s"),
)
"""How rates are spelled besides: 400 GBps, 28 TFLOPS, 56 TOPS."""
TOKEN_RATE = pattern(r"(?:t(?:ok(?:en)?s?)?/s(?:ec(?:ond)?)?|t(?:ok(?:en)?s?)?ps)\Z", re.IGNORECASE)
"""How tools spell tokens/s: 65 tok/s, 65 t/s, 65 tps, KoboldCpp's 7.71T/s."""
_FACTORS = {
    **{"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18},
    **{"m": 1e-3, "µ": 1e-6, "u": 1e-6, "n": 1e-9, "": 1.0},
}


def parse_quantity(text: str, unit: str, what: str) -> float:
    """A number with a prefix and a unit in SI base units: ``35.5GB``, ``3.35TB/s``, ``45ms``.

    Args:
        text: as typed; the unit itself may be left out (``3.35T``), ``Gi`` is 2^30.
        unit: ``B``, ``B/s``, ``FLOP``, ``FLOP/s``, ``s`` or ``tokens/s``.
        what: the option's name, for the message.

    Raises:
        InputError: not such a quantity, or not above zero.
    """
    spelled = text.strip()
    if unit.endswith("/s"):
        for way, plainly in _RATES:
            spelled = way.sub(plainly, spelled)
    if unit == "tokens/s":
        spelled = TOKEN_RATE.sub(unit, spelled)
    match = _QUANTITY.match(spelled)
    if match:
        number, prefix, binary, said = match.groups()
        name = said.lower().removesuffix("/s").rstrip("s") if unit != "s" else said
        asked = unit.lower().removesuffix("/s").rstrip("s") if unit != "s" else unit
        per_second = said.lower().endswith("/s") == unit.endswith("/s") or not said
        power = "kMGTPE".find(prefix) + 1 if prefix else 0
        factor = 1024.0**power if binary and power > 0 else _FACTORS[prefix]
        value = float(plain(number)) * factor
        small = prefix in ("m", "µ", "u", "n") and prefix
        fits = not (small and unit != "s") and not (binary and power <= 0)
        fits = fits and not (power > 0 and unit == "s")
        if name in ("", asked) and per_second and fits and 0 < value < 1e30:
            return value
    example = {"s": "45ms", "tokens/s": "65"}.get(unit, f"35.5G{unit}")
    raise InputError(
        f"{what} must be a quantity such as {example}, not '{text[:40]}'{decimal_hint(text)}"
    )

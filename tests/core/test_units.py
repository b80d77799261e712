"""Units round-trip; tera is 1e12."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline import InputError
from roofline.bound.achieved import achieved
from roofline.bound.sweep import span
from roofline.units import digits, parse_count, parse_quantity, percent, seconds, si

FACTORS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
           "m": 1e-3, "µ": 1e-6, "n": 1e-9}  # fmt: skip


def back(text, unit):
    number, rest = text.split(" ")
    return float(number) * FACTORS[rest.removesuffix(unit)]


@given(st.floats(1, 1e20))
def test_si_round_trips(value):
    assert back(si(value, "B"), "B") == pytest.approx(value, rel=5.1e-3)


@given(st.floats(1e-9, 1e3))
def test_seconds_round_trip(value):
    assert back(seconds(value), "s") == pytest.approx(value, rel=5.1e-3)


@given(st.floats(1e-5, 1e14))
def test_digits_round_trip_without_powers_of_ten(value):
    text = digits(value)
    assert "e" not in text
    assert float(text) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(
    ("value", "text"),
    [(989e12, "989 TFLOP/s"), (3.35e12, "3.35 TFLOP/s"), (999.6e9, "1 TFLOP/s"), (0, "0 FLOP/s")],
)
def test_tera_is_1e12(value, text):
    assert si(value, "FLOP/s") == text


def test_percent():
    assert [percent(x) for x in (0.0036, 0.0176, 0.0996, 0.98, 1.23)] == [
        "0.36 %", "1.8 %", "10 %", "98 %", "123 %",
    ]  # fmt: skip


@given(st.integers(0, 1 << 40))
def test_counts_round_trip(value):
    assert parse_count(str(value), "--n") == value
    assert parse_count(f"{value:,}", "--n") == value


@pytest.mark.parametrize(("text", "value"), [("2k", 2048), ("1M", 1 << 20), ("1.5k", 1536)])
def test_counts_with_a_suffix(text, value):
    assert parse_count(text, "--n") == value


@pytest.mark.parametrize(
    "text", ["16,32", "1,8", "1,02", "16，32", "1:64", "2, 048", "0,128", "1;8"]
)
def test_a_list_is_no_count_and_sweep_is_named(text):
    with pytest.raises(InputError, match="roofline sweep"):
        parse_count(text, "--batch")


@pytest.mark.parametrize("text", ["2.000", "2.0", "16_32", "2 048", "1e3", "2'048", "-1", ""])
def test_what_could_be_two_numbers_is_no_count(text):
    with pytest.raises(InputError, match="whole number"):
        parse_count(text, "--batch")


@pytest.mark.parametrize("text", ["15,4 ms", "0,001 ms", "15,4567ms"])
def test_a_decimal_comma_is_refused_with_what_to_write(text):
    with pytest.raises(InputError, match="with a point"):
        parse_quantity(text, "s", "--seconds")
    with pytest.raises(InputError, match="with a point"):
        achieved(text, None)


@pytest.mark.parametrize("text", ["15 4 ms", "1 5ms", "15.4 m s", "15.4,5 ms"])
def test_a_quantity_is_one_number_and_one_unit(text):
    with pytest.raises(InputError, match="quantity"):
        parse_quantity(text, "s", "--seconds")


@pytest.mark.parametrize(
    "unit", ["tok/s", "t/s", "T/s", "tps", "tokens/s", " tokens/sec", "toks/s", "token/second", ""]
)
def test_tokens_a_second_are_spelled_as_tools_do(unit):
    assert parse_quantity(f"65.5{unit}", "tokens/s", "--tokens-per-s") == 65.5
    assert parse_quantity(f"1.2k{unit.strip()}", "tokens/s", "--tokens-per-s") == 1200
    if unit not in ("", "T/s"):  # 65T of bytes
        with pytest.raises(InputError, match="quantity"):
            parse_quantity(f"65{unit}", "B/s", "--bandwidth")


@given(st.integers(1, 1 << 40))
def test_quantities_take_groups_of_thousands(value):
    assert parse_quantity(f"{value:,} B", "B", "--bytes") == value


def test_in_a_list_a_comma_sets_numbers_apart():
    assert span("16,32", "--batch").values == (16, 32)
    assert span("2048,4096", "--batch").values == (2048, 4096)
    for text in ("2,048", "1,000", "1,2,048"):
        with pytest.raises(InputError, match="takes a list"):
            span(text, "--batch")


@given(st.text(max_size=12))
def test_any_text_is_a_count_or_one_sentence(text):
    try:
        assert parse_count(text, "--n") >= 0
    except InputError as error:
        assert "\n" not in str(error).replace(text, "")


@given(st.floats(0.1, 1e5))
def test_achieved_in_any_unit_is_one_thing(rate):
    import roofline

    bound = roofline.explain("llama-3.1-8b", "h100-sxm").bound
    a = achieved(f"{rate:f} tok/s", bound)
    b = achieved(f"{a.seconds * 1e3:.12f} ms", bound)
    c = achieved(f"{a.bytes_per_s / 1e9:.12f} GB/s", bound)
    d = achieved(f"{a.flops_per_s / 1e12:.12f} TFLOP/s", bound)
    assert math.isclose(a.of_roof, b.of_roof, rel_tol=1e-6)
    assert math.isclose(a.of_roof, c.of_roof, rel_tol=1e-6)
    assert math.isclose(a.of_roof, d.of_roof, rel_tol=1e-6)

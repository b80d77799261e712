"""Points: exact round trips, refusals by name, and files that lose at most the last line."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.count.group import Group
from roofline.errors import InputError
from roofline.parallel import Parallel
from roofline.points import MeasuredRoof, Part, Point, PointsWriter, Seconds, Source, read_points
from roofline.points.point import SCHEMA
from roofline.points.reader import point_from_json
from roofline.record import replace

POINT = Point(
    parts=(Part((Group(4, 1, 31),), 16, True),),
    seconds=Seconds(0.8, 0.75, 0.02, 16),
    model="tiny",
    layers=2,
    weights="bf16",
    engine="torch",
    roof=MeasuredRoof(3e10, {"bf16": 2e12}, {"launch": 5e-6}, 0.03),
    source=Source("llama-bench", "x.json", 3),
    notes=("busy",),
    extra={"their": {"field": [1, "zwei"]}},
)

positive = st.floats(1e-9, 1e15, allow_nan=False)
ceilings = st.floats(1e3, 1e21)
words = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=20)
groups = st.builds(Group, st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**7))
parts = st.builds(
    Part, st.lists(groups, min_size=1, max_size=3).map(tuple), positive, st.booleans()
)
points = st.builds(
    Point,
    parts=st.lists(parts, min_size=1, max_size=4).map(tuple),
    seconds=st.builds(
        lambda median, share, *more: Seconds(median, share and median * share, *more),
        st.floats(1e-7, 1e9),
        st.none() | st.floats(0.01, 1),
        st.none() | st.floats(0, 10),
        st.none() | st.integers(1, 10**6),
    ),
    basis=st.sampled_from(["steps", "token", "first", "run"]),
    model=st.none() | words,
    layers=st.none() | st.integers(1, 1000),
    tokens=st.none() | positive,
    roof=st.none()
    | st.builds(MeasuredRoof, st.none() | ceilings, st.dictionaries(st.text(max_size=5), ceilings)),
    notes=st.lists(words).map(tuple),
    extra=st.dictionaries(st.text(max_size=5), st.integers() | st.text() | st.none()),
)


layouts = st.builds(
    lambda tp, dp, share, pp, waves: Parallel(
        tp, pp, tp * dp // share if tp * dp % share == 0 else 1, dp, waves if pp > 1 else None
    ),
    *(st.integers(1, 16) for _ in range(4)),
    st.none() | st.integers(1, 64),
)
points = st.builds(
    lambda point, over, devices: replace(
        point, layout=over, devices=over.devices if over else devices
    ),
    points,
    st.none() | layouts,
    st.integers(1, 1024),
)


@given(points)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_point_survives_its_file_form(point: Point) -> None:
    line = json.dumps(point.to_json())
    assert point_from_json(json.loads(line), "here") == point


def test_context_of_growing_decode_is_its_mean() -> None:
    assert POINT.context == 31 + 1 + 7.5
    assert POINT.batch == 4
    assert POINT.step_seconds == pytest.approx(0.05)
    assert POINT.tokens_per_s == pytest.approx(80)


def test_unknown_fields_are_kept() -> None:
    line = POINT.to_json() | {"from_the_future": {"x": 1}}
    kept = point_from_json(line, "here")
    assert kept.extra["from_the_future"] == {"x": 1}
    assert kept.to_json()["extra"]["from_the_future"] == {"x": 1}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "roofline.points/2"}, "schema is 'roofline.points/2'"),
        ({"basis": "guess"}, "basis is 'guess'"),
        ({"parts": []}, "at least one part"),
        ({"parts": [{"groups": [{"batch": 0, "new_tokens": 1, "past": 0}]}]}, "batch is 0"),
        ({"parts": [{"groups": [{"batch": 1.5, "new_tokens": 1, "past": 0}]}]}, "whole number"),
        ({"parts": [{"groups": [{"batch": 1}]}]}, "has batch, new_tokens and past"),
        ({"seconds": {}}, "seconds.median is missing"),
        ({"seconds": {"median": -1}}, "seconds.median is -1; it is from 1e-09"),
        ({"seconds": {"median": 1, "best": 2}}, "slower than the median"),
        ({"seconds": {"median": float("nan")}}, "seconds.median is nan"),
        ({"seconds": {"median": True}}, "must be a number, not True"),
        ({"seconds": {"median": 10**400}}, "a number of more than 30 digits"),
        ({"model": 7}, "model must be text, not 7"),
        ({"devices": 0}, "devices is 0"),
        ({"layout": {"tp": 2}}, "layout is of 2 devices, devices is 1"),
        ({"layout": {"tp": 0}}, "layout.tp is 0"),
        ({"layout": {"tp": 2, "ep": 3}, "devices": 2}, "ep may be 1, 2"),
        ({"layout": 2}, "layout must be a table"),
        ({"notes": "x"}, "notes must be a list"),
        ({"roof": {"compute": {"bf16": "fast"}}}, "roof.compute.bf16 must be a number"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], says: str) -> None:
    with pytest.raises(InputError) as refused:
        point_from_json(POINT.to_json() | change, "f, line 3")
    assert says in str(refused.value)
    assert "f, line 3" in str(refused.value)


def test_appending_never_touches_what_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / "points.jsonl")
    for _ in range(3):
        with PointsWriter(path) as writer:
            writer.add(POINT)
    assert list(read_points(path)) == [POINT] * 3


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_cut_off_anywhere_costs_only_itself(tmp_path: Path, cut: int) -> None:
    path = str(tmp_path / "points.jsonl")
    with PointsWriter(path) as writer:
        writer.add(POINT)
        writer.add(POINT)
    size = os.path.getsize(path)
    os.truncate(path, size - cut)
    if cut > 1:
        with pytest.raises(InputError, match="line 2: not JSON"):
            list(read_points(path))
        assert list(read_points(path, finished_only=True)) == [POINT]
    with PointsWriter(path) as writer:
        writer.add(POINT)
    # A line that lacks only its newline is whole, and stays.
    assert list(read_points(path)) == [POINT] * (3 if cut == 1 else 2)


FOREIGN = {
    "a picture": b"\xff\xd8\xff\xe0\n" + bytes(range(256)) * 9,
    "a picture without a newline": b"\xff\xd8\xff" + bytes(300),
    "zeros": bytes(5000),
    "text without an end": b"first line\nsecond, unfinished",
    "text": b"first line\n",
    "JSON of another kind": b'{"a": 1}\n{"b": 2',
    "one object on many lines": b'{\n  "a": 1\n}\n',
    "another schema": b'{"schema": "roofline.points/2"}\n',
    "the head of ours": b'{"schema"',
    "a short file": b"{",
    "deep": b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_no_points_file_stays_as_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(InputError, match="-o"):
        PointsWriter(str(path))
    assert path.read_bytes() == FOREIGN[name]


@pytest.mark.parametrize("tail", [b"not ours", b'{"a": 1', b"\xff\xd8", b'{"schema": "other/1", '])
def test_what_stands_behind_points_and_is_none_is_not_cut(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "points.jsonl"
    with PointsWriter(str(path)) as writer:
        writer.add(POINT)
    path.write_bytes(before := path.read_bytes() + tail)
    with pytest.raises(InputError, match="is no point"):
        PointsWriter(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("left", [40, 500, 0])
def test_a_torn_point_goes_just_before_the_first_write(tmp_path: Path, left: int) -> None:
    """A run that fails before it has a point changes nothing, not even that."""
    path = tmp_path / "points.jsonl"
    with PointsWriter(str(path)) as writer:
        writer.add(POINT)
    whole = path.read_bytes()
    torn = whole + (whole[:left] if left else b"\0" * 99)  # zeros: what a power cut leaves
    path.write_bytes(torn)
    with PointsWriter(str(path)):
        assert path.read_bytes() == torn
    assert path.read_bytes() == torn
    with PointsWriter(str(path)) as writer:
        writer.add(POINT)
    assert path.read_bytes() == whole * 2


@pytest.mark.parametrize("what", ["moved", "replaced", "removed", "appended", "cut", "folder"])
def test_a_file_that_others_touch_meanwhile_is_not_written(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    path = folder / "points.jsonl"
    with PointsWriter(str(path)) as writer:
        writer.add(POINT)
        assert writer.intact()
        if what == "moved":
            path.rename(folder / "other.jsonl")
        elif what == "replaced":
            (folder / "new").write_text("theirs\n")
            os.replace(folder / "new", path)
        elif what == "removed":
            path.unlink()
        elif what == "appended":
            with path.open("a") as file:
                file.write("theirs\n")
        elif what == "cut":
            os.truncate(path, 10)
        else:
            folder.rename(tmp_path / "elsewhere")
        before = path.read_bytes() if path.exists() else None
        assert not writer.intact()
        with pytest.raises(InputError, match="by others"):
            writer.add(POINT)
        assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("at", ["write", "fsync"])
def test_an_interrupt_keeps_a_whole_line_and_takes_back_a_torn_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    path = tmp_path / "points.jsonl"
    real = os.write

    def struck(fd: int, data: bytes = b"") -> int:
        if data:
            real(fd, data[:40])
        raise KeyboardInterrupt

    with PointsWriter(str(path)) as writer:
        writer.add(POINT)
        monkeypatch.setattr(os, at, struck)
        with pytest.raises(KeyboardInterrupt):
            writer.add(POINT)
        monkeypatch.undo()
        assert writer.intact()
        writer.add(POINT)
    assert len(list(read_points(str(path)))) == {"write": 2, "fsync": 3}[at]


def test_a_line_that_others_wrote_behind_a_failed_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "points.jsonl"
    with PointsWriter(str(path)) as writer:
        writer.add(POINT)

        def torn(fd: int) -> None:
            with path.open("a") as file:
                file.write("theirs\n")
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "fsync", torn)
        with pytest.raises(InputError, match="Input/output error"):
            writer.add(POINT)
    assert path.read_text().endswith("theirs\n")


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "a name that cannot be"])
def test_points_are_kept_in_a_regular_file(tmp_path: Path, kind: str) -> None:
    path = {
        "a device": "/dev/null",
        "a folder": str(tmp_path),
        "a name that cannot be": "a\0b",
    }.get(kind, str(tmp_path / "pipe"))
    if kind == "a pipe":
        os.mkfifo(path)
    with pytest.raises(InputError):
        PointsWriter(path)


def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "points.jsonl")
    with PointsWriter(path) as writer:
        writer.add(POINT)
        before = Path(path).read_bytes()
        real = os.write

        def full(fd: int, data: bytes) -> int:
            if len(data) <= 40:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(fd, data[:40])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(InputError, match=r"No space left.*--resume"):
            writer.add(POINT)
        monkeypatch.undo()
        assert Path(path).read_bytes() == before
        writer.add(POINT)
    assert list(read_points(path)) == [POINT, POINT]


def test_two_runs_do_not_write_to_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "points.jsonl")
    with PointsWriter(path), pytest.raises(InputError, match="another run is writing"):
        PointsWriter(path)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        PointsWriter(str(tmp_path / "no" / "points.jsonl"))
    with pytest.raises(InputError, match="No such file"):
        list(read_points(str(tmp_path / "none.jsonl")))


def test_lines_that_are_no_points_are_named(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    for text, says in [
        ("[1]\n", "line 1: a point is a JSON object, not [1]"),
        ("\n{}\n", "line 2: schema is None"),
        ('{"extra": {"x": NaN}}\n', "line 1: NaN is not a number"),
        ('{"extra": {"x": -Infinity}}\n', "line 1: -Infinity is not a number"),
        ('{"model": "a", "model": "b"}\n', "the key 'model' is there twice"),
        ('{"x": ' + "9" * 5000 + "}\n", "line 1: not JSON"),
        ("[" * 200_000 + "\n", "nested too deeply"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError) as refused:
            list(read_points(str(path)))
        assert says in str(refused.value)
    assert SCHEMA == "roofline.points/1"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seconds": {"median": 5e-324}}, "seconds.median is 5e-324"),
        ({"seconds": {"median": 1e12}}, "seconds.median"),
        ({"seconds": {"median": 1.0, "best": 2.0}}, "slower than the median"),
        ({"roof": {"bandwidth": 1e-300}}, "roof.bandwidth"),
        ({"roof": {"bandwidth": 3e12, "compute": {"bf16": 1e300}}}, "roof.compute.bf16"),
        ({"roof": {"bandwidth": 3e12, "spread": 7}}, "roof.spread"),
        ({"tokens": 10**400}, "tokens"),
    ],
)
def test_numbers_that_no_machine_has_are_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        point_from_json({**POINT.to_json(), **change}, "here")


def test_a_roof_that_spreads_excuses_little() -> None:
    """A spread of 1 made a point of 7.5 times its roof 'at the wall'."""
    import roofline

    roof = MeasuredRoof(3e10, {"bf16": 2e12}, {}, 1.0)
    point = Point(
        parts=(Part((Group(1, 1, 511),)),), seconds=Seconds(0.001), model="llama-3.1-8b",
        weights="bf16", machine="h100-sxm", roof=roof,
    )  # fmt: skip
    ((placed, gap),) = roofline.place(point)
    assert placed.share > 7 and gap.code == "suspect"

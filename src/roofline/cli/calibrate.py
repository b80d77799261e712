"""``roofline calibrate FILE…``: a personal profile from your own measurements."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files.written import json_text
from . import options

if TYPE_CHECKING:
    from ..predicting.calibrate import Calibration, CalibrationPoint


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="points that 'roofline bench' wrote, or results that 'roofline place' reads",
    )
    p.add_argument(
        "--engine",
        metavar="ENGINE",
        default="vllm",
        help="the public profile to start from (default vllm)",
    )
    options.add_out(
        p,
        "where to write the profile (default profile.json)",
        "--output-file",
        default="profile.json",
    )
    options.add_unsaid(p)
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """Fit and save."""
    from ..predicting import load_profile
    from ..predicting.calibrate import calibrate
    from ..predicting.profile import save

    words = options.words(args)
    base = load_profile(args.engine)
    points, skipped = _points(args, base)
    name = os.path.splitext(os.path.basename(args.out))[0] or "mine"
    found = calibrate(points, base, name)
    try:
        save(found.profile, args.out)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{args.out}: cannot be written: {why}") from None
    if args.json:
        print(json_text(_json(found, args.out), 2))
        return 0
    from ..say import calibrated

    print(calibrated.text(found, args.out, skipped, words))
    return 0


def _points(args: argparse.Namespace, base: object) -> tuple[list[CalibrationPoint], int]:
    from .. import results
    from ..placing.resolve import Resolver
    from ..predicting.calibrate import point

    resolver = Resolver(
        model=args.model, as_type=args.as_type, weights=args.weights, kv=args.kv, machine=args.on
    )
    found, skipped = [], 0
    for measured in results.points(args.files, options.unsaid(args)):
        one = point(*resolver.case(measured), base)  # type: ignore[arg-type]
        if one is None:
            skipped += 1
        else:
            found.append(one)
    return found, skipped


def _json(found: Calibration, path: str) -> dict[str, object]:
    return {
        "schema": "roofline.calibration/1",
        "file": path,
        "points": found.points,
        "mean_error_before": found.before,
        "mean_error_left_out": found.after,
        "kept_public": not found.moved,
        "moved": {n: {"public": a, "own": b} for n, (a, b) in found.moved.items()},
        "left_out": [
            {"measured_s": c.point.seconds, "public_s": c.public, "left_out_s": c.left_out}
            for c in found.checks
        ],
    }

"""What may be behind a gap between a point and its roof; the words for it are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """What may be behind a gap: a code and its numbers."""

    code: str
    values: dict[str, Any] = field(default_factory=dict)

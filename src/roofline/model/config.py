"""Reading a ``config.json``: values checked as they are read, nothing believed.

:class:`Config` hands out integers, flags, words and lists by name, refuses what cannot be
(a string for a number, NaN, negatives, a width of 10^18), and remembers what was read, so
that a structural key that no reader understood is refused rather than ignored.
"""

from __future__ import annotations

from ..errors import InputError, UnsupportedError, plain
from ..files.description import parse_json, read_json, short
from ..limits import NAME_CHARACTERS
from . import keys

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

LIMITS = {"layers": 10_000, "width": 1 << 24, "vocab": 1 << 28, "experts": 1 << 16}

NESTING = 8
"""Configs within each other, at most."""

_MISSING = object()


class Config:
    """A checked view of a config's keys.

    Args:
        data: the parsed JSON object.
        where: how to call it in messages: a path or a catalogue name.

    Attributes:
        class_defaults: what its class takes for a key that is not there, where a config holds
            only what differs from that: a nested one. Those that were used are in ``filled``.
        strict: whether somebody said which type it is: then all that looks structural and was
            not read is refused.
    """

    def __init__(self, data: dict[str, Any], where: str) -> None:
        self.data = data
        self.where = plain(where, NAME_CHARACTERS)
        self.seen: set[str] = set()
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.defaults: dict[str, Any] = {}
        self.class_defaults: dict[str, Any] = {}
        self.filled: dict[str, Any] = {}
        self.strict = False
        self.nesting = 0

    @property
    def kind(self) -> str:
        """Its ``model_type``, or the empty string."""
        value = self.data.get("model_type")
        return value if isinstance(value, str) else ""

    def assume(self, aliases: dict[str, tuple[str, ...]], defaults: dict[str, Any]) -> None:
        """Other names that keys go by, and what a family's own class takes for a missing one."""
        self.aliases = aliases
        self.defaults = defaults

    def layer(self, changes: dict[str, Any]) -> Config:
        """The same config with some keys changed, as one layer sees it."""
        if not changes:
            return self
        view = Config({**self.data, **changes}, self.where)
        view.seen, view.aliases, view.defaults = self.seen, self.aliases, self.defaults
        view.strict = self.strict
        view.class_defaults, view.filled = self.class_defaults, self.filled
        return view

    def per_layer(self, depth: int) -> list[dict[str, Any]]:
        """What ``per_layer_config`` changes in each layer (transformers 5 writes it)."""
        value = self.get("per_layer_config")
        result: list[dict[str, Any]] = [{}] * depth
        if value is None:
            return result
        if not isinstance(value, dict):
            raise InputError(f"{self.where}: per_layer_config must be an object")
        for key, changes in value.items():
            if not (key.isdecimal() and len(key) < 8 and isinstance(changes, dict)):
                raise InputError(f"{self.where}: per_layer_config maps layers to objects")
            if int(key) >= depth:
                raise InputError(f"{self.where}: per_layer_config has a layer {key} of {depth}")
            result[int(key)] = changes
        return result

    def sub(self, name: str) -> Config:
        """A nested config, ``text_config``."""
        value = self.data.get(name)
        if not isinstance(value, dict):
            raise InputError(f"{self.where}: {name} is missing or not an object")
        if self.nesting >= NESTING:
            raise InputError(f"{self.where}: configs nested too deeply")
        self.seen.add(name)
        inner = Config(value, f"{self.where} ({name})")
        inner.nesting = self.nesting + 1
        return inner

    def has(self, name: str) -> bool:
        """Whether the key is there and not null."""
        return self.get(name) is not None

    def get(self, name: str) -> Any:
        """The raw value of a key or of one of its aliases, ``None`` where absent.

        Raises:
            InputError: two aliases of one key disagree.
        """
        self.seen.add(name)
        result = self.data.get(name)
        for other in self.aliases.get(name, ()):
            self.seen.add(other)
            value = self.data.get(other)
            if result is None:
                result = value
            elif value is not None and value != result:
                raise InputError(
                    f"{self.where}: {name} is {short(result)} and {other} is {short(value)}, "
                    "which should be the same"
                )
        names = (name, *self.aliases.get(name, ()))
        if name in self.class_defaults and not any(n in self.data for n in names):
            result = self.filled[name] = self.class_defaults[name]
        return result

    def _find(self, names: tuple[str, ...], default: Any) -> tuple[str, Any]:
        values = [self.get(name) for name in names]
        for name, value in zip(names, values, strict=True):
            if value is not None:
                return name, value
        for name in names:
            if self.defaults.get(name) is not None:
                return name, self.defaults[name]
        if default is _MISSING:
            raise InputError(f"{self.where}: {' or '.join(names)} is missing")
        return names[0], default

    def integer(
        self, *names: str, default: Any = _MISSING, least: int = 1, most: int = LIMITS["width"]
    ) -> int:
        """A whole number from the first of these keys that is set."""
        name, value = self._find(names, default)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
            value = int(value)
        if type(value) is not int:
            raise InputError(f"{self.where}: {name} must be a whole number, not {short(value)}")
        if not least <= value <= most:
            raise InputError(
                f"{self.where}: {name} is {short(value)}; it must be from {least} to {most}"
            )
        return value

    def optional(self, *names: str, least: int = 1, most: int = LIMITS["width"]) -> int | None:
        """A whole number, or ``None`` where the key is absent or null."""
        if all(self.get(n) is None and self.defaults.get(n) is None for n in names):
            return None
        return self.integer(*names, least=least, most=most)

    def layers(self, *names: str, default: Any = _MISSING) -> int:
        """A number of layers."""
        keys = names or ("num_hidden_layers",)
        return self.integer(*keys, default=default, most=LIMITS["layers"])

    def experts(self, *names: str, default: Any = _MISSING, least: int = 1) -> int:
        """A number of experts."""
        return self.integer(*names, default=default, least=least, most=LIMITS["experts"])

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false."""
        name, value = self._find(names, default)
        if not isinstance(value, bool):
            raise InputError(f"{self.where}: {name} must be true or false, not {short(value)}")
        return value

    def word(self, *names: str, default: str | None = None) -> str:
        """A string."""
        name, value = self._find(names, _MISSING if default is None else default)
        if not isinstance(value, str):
            raise InputError(f"{self.where}: {name} must be a string, not {short(value)}")
        return value

    def words(self, name: str, length: int | None = None) -> list[str] | None:
        """A list of strings (one a layer), or ``None`` where absent."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise InputError(f"{self.where}: {name} must be a list of strings")
        if length is not None and len(value) != length:
            raise InputError(f"{self.where}: {name} has {len(value)} entries for {length} layers")
        return value

    def integers(
        self, name: str, length: int | None = None, least: int = 0, most: int = LIMITS["width"]
    ) -> list[int] | None:
        """A list of whole numbers, or ``None`` where absent."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(
            type(v) is int and least <= v <= most for v in value
        ):
            raise InputError(
                f"{self.where}: {name} must be a list of whole numbers from {least} to {most}"
            )
        if length is not None and len(value) != length:
            raise InputError(f"{self.where}: {name} has {len(value)} entries for {length} layers")
        return value

    def refuse(self, what: str) -> UnsupportedError:
        """An error that names what of this architecture is not counted."""
        return UnsupportedError(f"{self.where}: {self.kind or 'model'}: {what}")

    def finish(self) -> None:
        """Refuse structural keys that are set but that nobody read; see :mod:`.keys`.

        Raises:
            UnsupportedError: such a key, by name.
        """
        left = keys.left(self.data, self.seen, strict=self.strict)
        if left:
            given = ", ".join(f"{k} = {short(self.data[k])}" for k in left[:8])
            raise self.refuse(
                f"not counted, and not to be ignored: {given}; if that changes no shape, take it "
                "out of a copy of the config"
            )


__all__ = ["LIMITS", "Config", "parse_json", "read_json", "short"]

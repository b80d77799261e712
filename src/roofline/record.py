"""Frozen value classes that cost little to define.

``dataclasses`` writes and compiles six methods for each class and imports ``inspect`` to do so:
on the way to one answer that was half of the time of ``roofline explain`` (45 classes, 60 of
110 ms). A record compiles one, its ``__init__``, once it is made often; the others are shared.
Type checkers see it as a frozen dataclass. Records keep a ``__dict__``, so
``functools.cached_property`` works on them.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        """What only type checkers read."""
        return lambda made: made


class _Missing:
    """A default that is made anew for each instance, or that there is none."""

    def __init__(self, make: Callable[[], Any] | None = None, compare: bool = True) -> None:
        self.make = make
        self.compare = compare


def field(*, default_factory: Callable[[], Any], compare: bool = True) -> Any:
    """A default made anew for each instance; ``compare=False`` leaves it out of ``==``, ``hash``
    and ``repr``."""
    return _Missing(default_factory, compare)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class of annotated attributes a frozen record: ``__init__`` in their order,
    ``==``, ``hash``, ``repr`` and ``replace``. ``__post_init__`` is called where there is one."""
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(base.__dict__.get("__record__", {}))
    for name in cls.__annotations__:
        fields[name] = cls.__dict__.get(name, _NONE)
        if isinstance(fields[name], _Missing) and name in cls.__dict__:
            delattr(cls, name)
    made: Any = cls
    made.__record__ = fields
    setattr(cls, "__match_args__", tuple(fields))  # noqa: B010
    made.__init__ = _Init(cls, fields)
    made.__setattr__ = made.__delattr__ = _frozen
    made.__eq__, made.__hash__, made.__repr__ = _eq, _hash, _repr
    compared = made._compared = [n for n, default in fields.items() if not _hidden(default)]
    made._key = attrgetter(*compared) if compared else _nothing
    return cls


def replace(of: T, **changes: Any) -> T:
    """A copy of a record (or dataclass) with other values for some attributes; what a record made
    for itself alone (``compare=False``) is made anew."""
    fields = getattr(of, "__record__", None)
    if fields is None:
        from dataclasses import replace as copied

        return copied(of, **changes)  # type: ignore[type-var]
    values = of.__dict__
    kept = {n: values[n] for n in type(of)._compared}  # type: ignore[attr-defined]
    kept.update(changes)
    return type(of)(**kept)


_NONE = _Missing()


def _hidden(default: Any) -> bool:
    return isinstance(default, _Missing) and not default.compare


OFTEN = 12
"""Instances of a class that are filled by hand before its ``__init__`` is compiled, which takes as
long as filling thirty of them."""


class _Init:
    """An ``__init__`` that fills by hand at first, and is compiled, and put in its own place, once
    it is often asked for, or given what it does not take."""

    def __init__(self, cls: type, fields: dict[str, Any]) -> None:
        self.of = cls, fields
        self.names = tuple(fields)
        self.left = OFTEN

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or not self.left:
            made = self._compiled()
            return made if instance is None else made.__get__(instance, owner)
        self.left -= 1

        def fill(*args: Any, **given: Any) -> None:
            values = dict(zip(self.names, args, strict=False))
            cls, fields = self.of
            if (
                len(args) > len(fields)
                or given.keys() - fields.keys()
                or given.keys() & values.keys()
            ):
                self._compiled()(instance, *args, **given)
            values |= given
            for name in fields.keys() - values.keys():
                default = fields[name]
                if default is _NONE:
                    self._compiled()(instance, *args, **given)
                values[name] = _made(default)
            instance.__dict__.update(values)
            if hasattr(cls, "__post_init__"):
                instance.__post_init__()

        return fill

    def _compiled(self) -> Any:
        cls: Any = self.of[0]
        made = cls.__init__ = _init(*self.of)
        return made


def _made(default: Any) -> Any:
    return default.make() if isinstance(default, _Missing) and default.make else default


def _init(cls: type, fields: dict[str, Any]) -> Callable[..., None]:
    names: dict[str, Any] = {"_NONE": _NONE}
    head, body = ["self"], ["d = self.__dict__"]
    for name, default in fields.items():
        if default is _NONE:
            head.append(name)
            body.append(f"d['{name}'] = {name}")
        elif isinstance(default, _Missing):
            names[f"_make_{name}"] = default.make
            head.append(f"{name}=_NONE")
            body.append(f"d['{name}'] = _make_{name}() if {name} is _NONE else {name}")
        else:
            names[f"_default_{name}"] = default
            head.append(f"{name}=_default_{name}")
            body.append(f"d['{name}'] = {name}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n ".join(body)
    exec(f"def __init__({', '.join(head)}):\n {lines}", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _frozen(self: object, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")


def _nothing(_: object) -> tuple[()]:
    return ()


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return type(self)._key(self) == type(self)._key(other)


def _hash(self: Any) -> int:
    return hash(type(self)._key(self))


def _repr(self: Any) -> str:
    shown = ((n, d) for n, d in type(self).__record__.items() if not _hidden(d))
    return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n, _ in shown)})"

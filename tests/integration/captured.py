"""The variables that a capturing tool would show of an error: the locals of every frame in the whole chain."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masthead._meta.secret import SecretValue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_TESTS = str(Path(__file__).parents[1])
_CONTAINERS_DEEP = 4
"""How deep Sentry follows containers."""
_ATTRIBUTES_DEEP = 2
"""Sentry shows attributes only where a repr does; some other tools follow an object's own."""


def leaks(error: BaseException, *marks: str) -> list[str]:
    """Find a mark in an error, its causes, its context and all their frames, those of tests excepted."""
    return [place for place, text in _shown(error) if any(mark in text for mark in marks)]


def _shown(error: BaseException) -> Iterator[tuple[str, str]]:
    waiting, seen = deque([error]), set[int]()
    while waiting:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        seen.add(id(each))
        kind = type(each).__name__
        yield f"str of {kind}", str(each)
        yield from _look(f"{kind}.args", each.args)
        yield from _look(f"attributes of {kind}", vars(each))
        yield from _frames(each.__traceback__)
        inside = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        waiting.extend(found for found in (each.__cause__, each.__context__, *inside) if found is not None)


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, str]]:
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        if not code.co_filename.startswith(_TESTS):
            for name, value in list(frame.f_locals.items()):
                yield from _look(f"{Path(code.co_filename).name}:{code.co_name}:{name}", value)
        traceback = traceback.tb_next


def _look(
    place: str, value: object, containers: int = _CONTAINERS_DEEP, attributes: int = _ATTRIBUTES_DEEP
) -> Iterator[tuple[str, str]]:
    yield place, _repr(value)
    if isinstance(value, memoryview):
        yield place, repr(bytes(value))
    elif isinstance(value, dict) and containers:
        for key, item in list(value.items()):
            yield from _look(f"{place}[{key!r}]", item, containers - 1, attributes)
    elif isinstance(value, list | tuple | set | frozenset | deque) and containers:
        for item in list(value):
            yield from _look(f"{place}[]", item, containers - 1, attributes)
    elif attributes and type(value).__module__.startswith("masthead") and not isinstance(value, SecretValue | type):
        for name, item in _attributes(value):
            yield from _look(f"{place}.{name}", item, containers, attributes - 1)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - what is half made need not have one
        return type(error).__name__


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, without properties and descriptors."""
    yield from list(getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member = vars(kind).get(name)
            if member is not None and hasattr(member, "__get__"):
                try:
                    yield name, member.__get__(value, kind)
                except AttributeError:
                    continue

"""Where two servers' answers differ, said so that one can act on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.api import Plain

_ABSENT = object()
_LONGEST_SHOWN = 300


def differences(real: list[Plain], other: list[Plain]) -> list[str]:
    """Return a line for each value that is not the same: which step, where in it, and both values."""
    found: list[str] = []
    for number, (expected, actual) in enumerate(zip(real, other, strict=False), 1):
        found += [
            f"step {number}, {expected['request']}: {where}" for where in _differences("", expected, actual)
        ]
    if len(real) != len(other):
        found.append(f"{len(real)} steps were recorded, and there are {len(other)} now")
    return found


def _differences(path: str, real: object, other: object) -> Iterator[str]:
    if real == other and type(real) is type(other):
        return
    if isinstance(real, dict) and isinstance(other, dict):
        for key in sorted(real.keys() | other.keys()):
            below = f"{path}.{key}" if path else key
            yield from _differences(below, real.get(key, _ABSENT), other.get(key, _ABSENT))
    elif isinstance(real, list) and isinstance(other, list) and len(real) == len(other):
        for index, (expected, actual) in enumerate(zip(real, other, strict=True)):
            yield from _differences(f"{path}[{index}]", expected, actual)
    else:
        yield f"{path}: real {_shown(real)}, here {_shown(other)}"


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= _LONGEST_SHOWN else f"{written[:_LONGEST_SHOWN]}…"

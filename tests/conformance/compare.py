"""Where the responses of two servers differ, in lines that name the step and the field."""

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
        found += [f"step {number}, {expected['request']}: {where}" for where in _of_a_step(expected, actual)]
    if len(real) != len(other):
        found.append(f"{len(real)} steps were recorded, and there are {len(other)} now")
    return found


def _of_a_step(real: Plain, other: Plain) -> Iterator[str]:
    if real.get("status") == other.get("status"):
        yield from _differences("", real, other)
    else:  # two quite different bodies are not to be compared field by field
        yield f"real {_summary(real)}, here {_summary(other)}"


def _summary(step: Plain) -> str:
    body = step.get("body")
    text = body.get("message") or body.get("kind") if isinstance(body, dict) else body
    return f"{step.get('status')} {_shown(text or step.get('error'))}"


def _differences(path: str, real: object, other: object) -> Iterator[str]:
    if isinstance(real, dict) and isinstance(other, dict):
        for key in sorted(real.keys() | other.keys()):
            below = f"{path}.{key}" if path else key
            yield from _differences(below, real.get(key, _ABSENT), other.get(key, _ABSENT))
    elif isinstance(real, list) and isinstance(other, list):
        yield from _differences_of_lists(path, real, other)
    elif real != other or type(real) is not type(other):
        yield f"{path}: real {_shown(real)}, here {_shown(other)}"


def _differences_of_lists(path: str, real: list[object], other: list[object]) -> Iterator[str]:
    if len(real) == len(other):
        for index, (expected, actual) in enumerate(zip(real, other, strict=True)):
            yield from _differences(f"{path}[{index}]", expected, actual)
        return
    missing = [each for each in real if each not in other]
    added = [each for each in other if each not in real]
    yield f"{path}: {len(real)} items in the real one, {len(other)} here; missing {_shown(missing)}, new {_shown(added)}"  # noqa: E501


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= _LONGEST_SHOWN else f"{written[:_LONGEST_SHOWN]}…"

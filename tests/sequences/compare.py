"""How the responses of two servers to a sequence differ, and the shortest sequence for which they do."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.sequences.sequence import Observation, Step

_MISSING = "(missing)"


def differences(expected: list[Observation], found: list[Observation]) -> list[str]:
    """How the first response that differs does so; the ones after it follow from it."""
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if lines := list(_differences(asdict(one), asdict(other), "")):
            return [f"step {number}: {line}" for line in lines]
    return []


def _differences(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *(name for name in other if name not in one)]:
            yield from _differences(one.get(name, _MISSING), other.get(name, _MISSING), f"{path}.{name}")
        if list(one) != list(other) and one == other and ".fieldsV1" in path:
            yield f"{path}: real order {list(one)}, embedded {list(other)}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, f"{path}[{index}]")
    elif one != other or type(one) is not type(other):
        yield f"{path}: real {json.dumps(one)}, embedded {json.dumps(other)}"


def shrink(steps: list[Step], fails: Callable[[list[Step]], bool], *, attempts: int = 400) -> list[Step]:
    """Leave out steps and parts of bodies, as long as the sequence still fails."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(steps):
            attempts -= 1
            if attempts < 0:
                return steps
            if fails(smaller):
                steps, changed = smaller, True
                break
    return steps


def _smaller(steps: list[Step]) -> Iterator[list[Step]]:
    """Each sequence that is a little smaller: first without a step, then without a part of a body."""
    for index in reversed(range(len(steps))):
        yield [*steps[:index], *steps[index + 1 :]]
    for index in reversed(range(len(steps))):
        if "customresourcedefinitions" in steps[index].path:
            continue  # a part of a definition means nothing
        for body in _smaller_values(steps[index].body):
            yield [*steps[:index], replace(steps[index], body=body), *steps[index + 1 :]]


def _smaller_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name in value:
            yield {other: each for other, each in value.items() if other != name}
        for name, each in value.items():
            for smaller in _smaller_values(each):
                yield {**value, name: smaller}
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield [*value[:index], *value[index + 1 :]]
            for smaller in _smaller_values(each):
                yield [*value[:index], smaller, *value[index + 1 :]]

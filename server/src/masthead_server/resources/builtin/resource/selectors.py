"""Device selectors: CEL expressions about a device, compiled as kube-apiserver does."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, internal_error, invalid, required, too_long
from masthead_server.resources.builtin.resource.checks import (
    MAX_DRIVER_LENGTH,
    MAX_ID_LENGTH,
    list_errors,
)
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._cel.types import Type
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

MAX_SELECTORS: Final = 32
_MAX_EXPRESSION_LENGTH: Final = 10 * 1024
_MAX_COST: Final = 1_000_000
_MAX_VALUES: Final = 32
"""The most attributes or capacities of a device."""
_MAX_VALUE_LENGTH: Final = 64
"""The most bytes of an attribute's value."""
_MAX_CACHED_LENGTH: Final = 512


def selector_list_errors(owner: Plain, path: str) -> Errors:
    """Validate the selectors of a class or a request."""
    return list_errors(owner, "selectors", path, MAX_SELECTORS, _selector_errors)


def _selector_errors(selector: Plain, path: str) -> Errors:
    expression = selector.get("cel")
    if expression is None:
        return [required(f"{path}.cel")]
    return _expression_errors(text(expression, "expression"), f"{path}.cel.expression")


def _expression_errors(expression: str, path: str) -> Errors:
    length = len(expression.encode())
    if length > _MAX_EXPRESSION_LENGTH:
        return [too_long(path, _MAX_EXPRESSION_LENGTH)]
    # Long expressions are not remembered, so that clients cannot fill the memory with them.
    problem, is_internal = (_cached_problem if length <= _MAX_CACHED_LENGTH else _find_problem)(expression)
    if not problem:
        return []
    if problem == _TOO_COMPLEX:
        return [forbidden(path, problem)]
    return [internal_error(path, problem) if is_internal else invalid(path, expression, problem)]


_TOO_COMPLEX: Final = "too complex, exceeds cost limit"


def _find_problem(expression: str) -> tuple[str, bool]:
    """Return why an expression cannot select devices, and whether kube-apiserver blames itself; empty if it can."""
    # The language is large, and most servers never see a selector.
    from masthead._cel.compiler import ProgramError
    from masthead._cel.environment import device_environment
    from masthead._cel.errors import CompileError
    from masthead._cel.program import Program
    from masthead._cel.types import ANY

    try:
        program = Program(expression, _variables(), limit=_MAX_COST, environment=device_environment())
    except CompileError as error:
        return f"compilation failed: {error}", False
    except ProgramError as error:
        return f"program instantiation failed: {error}", True
    if program.type.kind != "bool" and program.type != ANY:
        return f"must evaluate to bool or the unknown type, not {_name_type(program.type)}", False
    return (_TOO_COMPLEX, False) if program.estimate(_size_of) > _MAX_COST else ("", False)


_cached_problem: Final = lru_cache(maxsize=1024)(_find_problem)


def _name_type(found: Type) -> str:
    """Return the name of a type at run time, which is not the checker's."""
    name = "google.protobuf.Any" if found.name == "any" else found.name
    return f"{name}({', '.join(map(_name_type, found.params))})" if found.params else name


def _variables() -> Mapping[str, Type]:
    from masthead._cel.types import ANY, BOOL, QUANTITY, STRING, map_of, object_type

    device = object_type(
        "kubernetes.DRADevice",
        {
            "driver": STRING,
            "attributes": map_of(STRING, map_of(STRING, ANY)),
            "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
            "allowMultipleAllocations": BOOL,
        },
    )
    return {"device": device}


def _size_of(path: tuple[str, ...]) -> int | None:
    """Return the largest size of what a path from the variable ``device`` leads to."""
    match path:
        case ("device",):
            return 0
        case ("device", "driver"):
            return MAX_DRIVER_LENGTH
        case ("device", "allowMultipleAllocations"):
            return 1
        case ("device", "attributes" | "capacity", *steps):
            return _size_inside(path[1], steps)
        case _:
            return None


def _size_inside(field: str, steps: list[str]) -> int | None:
    match steps:
        case []:
            return _MAX_VALUES
        case ["@keys"]:
            return MAX_DRIVER_LENGTH
        case ["@values" | "@items"]:
            return _MAX_VALUES
        case ["@values" | "@items", "@keys"]:
            return MAX_ID_LENGTH
        case ["@values" | "@items", "@values" | "@items"]:
            return _MAX_VALUE_LENGTH if field == "attributes" else 0
        # An attribute by its name; kube-apiserver knows nothing about a capacity by its name.
        case ["@values" | "@items", _] if field == "attributes":
            return _MAX_VALUE_LENGTH
        case _:
            return None

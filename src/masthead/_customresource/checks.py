"""The server's checks of a schema, before any request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._schema.defaulting import copy_json
from masthead._schema.list_types import list_errors
from masthead._schema.prune import prune
from masthead._schema.schema import Schema
from masthead._schema.structural import structural_errors
from masthead._schema.validation import compile_validator
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead._schema.errors import FieldError

__all__ = ["check_schema"]

_ROOT: Final = "$"
_PROPERTY: Final = re.compile(r"\.properties\[([^\]]+)\]")
_LIMIT: Final = re.compile(r"\bmax(Items|Properties|Length)\b")
_SHOWN: Final = 3


class _Problem(NamedTuple):
    """A problem, and its path in the schema."""

    path: str
    text: str


def check_schema(schema: Schema, name: str) -> None:
    """Check that the server accepts a schema.

    Args:
        schema: The schema of a custom resource.
        name: The name of its class, for errors.

    Raises:
        CustomResourceError: If the server would reject it; the message has the first problems.
    """
    problems = [
        *_of_errors(structural_errors(schema, _ROOT)),
        *_list_problems(schema, _ROOT),
        *_default_problems(schema, _ROOT),
    ]
    # Rules are compiled only for a valid schema, and the CEL packages are imported only if there are rules.
    if not problems and _has_rules(schema):
        problems = list(_rule_problems(schema))
    if not problems:
        return
    (path, text), *others = [_in_python(problem, name) for problem in problems[:_SHOWN]]
    more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
    raise CustomResourceError("; ".join([text, *map(": ".join, others)]) + more, path=path)


def _in_python(problem: _Problem, name: str) -> _Problem:
    """Translate the path and the names of a problem to those of the class."""
    path = _PROPERTY.sub(r".\1", problem.path.removeprefix(_ROOT))
    path = path.replace(".items", "[]").replace(".additionalProperties", "[*]").replace(".[", "[")
    path, is_rule, rest = path.partition(".x-kubernetes-validations")
    text = _LIMIT.sub(lambda found: f"max_{found[1].lower()}", problem.text)
    return _Problem(f"{name}{path}", f"rule {rest}: {text}" if is_rule else text)


def _of_errors(errors: Iterable[FieldError]) -> Iterator[_Problem]:
    return (_Problem(error.field, error.body) for error in errors)


def _list_problems(schema: Schema, path: str) -> Iterator[_Problem]:
    """Check the keys of lists, and the items of sets."""
    items = schema.items
    if items is not None and schema.list_type == "map":
        if not schema.list_map_keys:
            yield _Problem(path, 'list_type="map" needs list_map_keys')
        for key in schema.list_map_keys:
            field = items.properties.get(key)
            if field is None:
                yield _Problem(path, f"list_map_keys: the items have no field {key!r}")
            # Items without the key could not be identified, and defaults are applied before the merge.
            elif key not in items.required and not field.has_default:
                yield _Problem(path, f"list_map_keys: {key!r} must be required, or have a default")
    elif items is not None and schema.list_type == "set":
        # Sets compare whole items, so that parts of an item cannot have owners.
        is_whole = items.map_type == "atomic" or (items.type == "array" and items.list_type in {None, "atomic"})
        if items.type in {"object", "array"} and not is_whole:
            yield _Problem(path, 'list_type="set": the items of a set must be scalars, or atomic')
    if schema.list_map_keys and schema.list_type != "map":
        yield _Problem(path, 'list_map_keys needs list_type="map"')
    for at, child in _children(schema, path):
        yield from _list_problems(child, at)


def _default_problems(schema: Schema, path: str) -> Iterator[_Problem]:
    if schema.has_default and schema.default is not None:
        # Pruning changes the value, and a default that is pruned would be rejected by the server.
        value = copy_json(schema.default)
        unknown = prune(value, schema, is_object=schema.embedded_resource)
        errors = compile_validator(schema).errors(schema.default, path=path)
        for error in errors or list_errors(schema.default, schema):
            yield _Problem(error.field if errors else path, f"the default is invalid: {error.body}")
        if unknown or value != schema.default:
            yield _Problem(path, f"the default has unknown fields: {', '.join(unknown)}")
    for at, child in _children(schema, path):
        yield from _default_problems(child, at)


def _rule_problems(schema: Schema) -> Iterator[_Problem]:
    from masthead._schema.rule_definitions import rule_problems
    from masthead._schema.rules import compile_rules

    problems = list(_of_errors(rule_problems(schema, _ROOT)))
    yield from problems
    # Rules of an invalid schema cannot be compiled, so that defaults are not tested against them.
    waiting = [] if problems else [(_ROOT, schema)]
    while waiting:
        path, nested = waiting.pop()
        if nested.has_default and nested.default is not None and _has_rules(nested):
            for error in compile_rules(nested, is_root=nested.embedded_resource).errors(nested.default, path=path):
                yield _Problem(error.field, f"the default is invalid: {error.body}")
        waiting += _children(nested, path)


def _children(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    for name, child in schema.properties.items():
        yield f"{path}.properties[{name}]", child
    if isinstance(schema.additional_properties, Schema):
        yield f"{path}.additionalProperties", schema.additional_properties
    if schema.items is not None:
        yield f"{path}.items", schema.items


def _has_rules(schema: Schema) -> bool:
    return bool(schema.rules) or any(map(_has_rules, schema.children()))

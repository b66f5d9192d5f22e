"""What the server would refuse about a schema, found before it is asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.defaulting import copied
from masthead._schema.errors import FieldError, invalid
from masthead._schema.prune import prune
from masthead._schema.schema import Schema
from masthead._schema.structural import structural_errors
from masthead._schema.validation import compile_validator
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_schema"]

_ROOT: Final = "$"
_PROPERTY: Final = re.compile(r"\.properties\[([^\]]+)\]")
_SHOWN: Final = 5


def check_schema(schema: Schema, name: str) -> None:
    """Check that the server accepts a schema.

    Args:
        schema: The schema of a custom resource.
        name: The name of its class, for errors.

    Raises:
        CustomResourceError: If it does not; the message has the first problems.
    """
    problems = [
        *structural_errors(schema, _ROOT),
        *_list_errors(schema, _ROOT),
        *_default_errors(schema, _ROOT),
    ]
    if not problems and _has_rules(schema):
        problems = _rule_errors(schema)
    if not problems:
        return
    shown = [_shown(each, name) for each in problems[:_SHOWN]]
    more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
    first, *rest = shown
    raise CustomResourceError(
        "; ".join([first[1], *(": ".join(each) for each in rest)]) + more, path=first[0]
    )


def _shown(problem: FieldError, name: str) -> tuple[str, str]:
    """The path in Python, and the problem."""
    path = _PROPERTY.sub(r".\1", problem.field.removeprefix(_ROOT))
    path = path.replace(".items", "[]").replace(".additionalProperties", "[*]")
    path, is_rule, rest = path.partition(".x-kubernetes-validations")
    what = f"rule {rest}" if is_rule else ""
    return f"{name}{path}", ": ".join(filter(None, (what, problem.body)))


def _list_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    """Check the keys of lists, and the items of sets."""
    items = schema.items
    if items is not None and schema.list_type == "map":
        if not schema.list_map_keys:
            yield invalid(path, "map", "a list of type map needs list_map_keys")
        for key in schema.list_map_keys:
            field = items.properties.get(key)
            if field is None:
                yield invalid(path, key, f"list_map_keys: the items have no field {key!r}")
            elif key not in items.required and not field.has_default:
                yield invalid(path, key, "list_map_keys: a key must be required or have a default")
    elif items is not None and schema.list_type == "set":
        is_whole = items.map_type == "atomic" or (
            items.type == "array" and items.list_type in {None, "atomic"}
        )
        if items.type in {"object", "array"} and not is_whole:
            yield invalid(path, "set", "the items of a set must be scalars, or atomic")
    if schema.list_map_keys and schema.list_type != "map":
        yield invalid(path, list(schema.list_map_keys), 'list_map_keys needs list_type="map"')
    for name, child in _children(schema, path):
        yield from _list_errors(child, name)


def _default_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.has_default and schema.default is not None:
        value = copied(schema.default)
        unknown = prune(value, schema, is_object=schema.embedded_resource)
        if unknown or value != schema.default:
            yield invalid(path, schema.default, "the default has unknown fields")
        else:
            for each in compile_validator(schema).errors(schema.default, path=path):
                yield invalid(each.field, each.value, f"the default is invalid: {each.detail or each.body}")
    for name, child in _children(schema, path):
        yield from _default_errors(child, name)


def _rule_errors(schema: Schema) -> list[FieldError]:
    from masthead._schema.rule_definitions import rule_problems
    from masthead._schema.rules import compile_rules

    problems = rule_problems(schema, _ROOT)
    if problems:
        return problems
    found: list[FieldError] = []
    waiting = [(_ROOT, schema)]
    while waiting:
        path, each = waiting.pop()
        if each.has_default and each.default is not None and _has_rules(each):
            found += compile_rules(each, is_root=each.embedded_resource).errors(each.default, path=path)
        waiting += [(at, child) for at, child in _children(each, path)]
    return found


def _children(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    for name, child in schema.properties.items():
        yield f"{path}.properties[{name}]", child
    if isinstance(schema.additional_properties, Schema):
        yield f"{path}.additionalProperties", schema.additional_properties
    if schema.items is not None:
        yield f"{path}.items", schema.items


def _has_rules(schema: Schema) -> bool:
    return bool(schema.rules) or any(map(_has_rules, schema.children()))

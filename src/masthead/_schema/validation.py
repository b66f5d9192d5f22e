"""Validation of values against a schema, with the errors of kube-apiserver.

A schema is compiled once, to one predicate per type of value. Nearly every value is valid, so the predicates run first.
Only an invalid value is checked again, slowly and in the server's order, to describe its errors.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import UNSET

from masthead._meta.quoting import quoted
from masthead._schema.constraints import (
    ValueProblem,
    enum_finding,
    identity,
    is_integral,
    number_findings,
    pattern_problem,
    string_findings,
    type_finding,
    type_names,
)
from masthead._schema.correlation import Correlated
from masthead._schema.errors import MAX_FINDINGS, FieldError
from masthead._schema.formats import checked_format, is_known, string_format
from masthead._schema.schema import Schema, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from msgspec import UnsetType

    from masthead._schema.schema import Json

__all__ = ["Validator", "compile_validator"]

Check: TypeAlias = "Callable[[Json], bool]"
Checks: TypeAlias = dict[type, Check]
"""The check for each type that is valid at all."""

_INT32: Final = 2**31
_TYPE_FIELDS: Final = frozenset({"apiVersion", "kind"})


class Validator:
    """A compiled schema.

    Args:
        schema: The schema, without references.
    """

    def __init__(self, schema: Schema) -> None:
        self._node = _Node(schema)

    def is_valid(self, value: Json) -> bool:
        """Tell whether a value is valid."""
        return self._node.is_valid(value)

    def errors(self, value: Json, old: Json | UnsetType = UNSET, *, path: str = "") -> list[FieldError]:
        """Return the errors of a value.

        Lists of type ``set`` and ``map``, and embedded objects, are checked elsewhere:
        `masthead._schema.list_types` and `masthead._schema.embedded`.

        Args:
            value: The value, plain JSON.
            old: The value before an update; errors of unchanged values are ignored.
            path: The path of the value; empty for a whole object.
        """
        if self._node.is_valid(value):
            return []
        # The slow way runs for invalid values only; it finds the same errors in the same order as the server.
        link = None if old is UNSET else Correlated(value, old, self._node.schema)
        result = self._node.linked_result(value, "", link)
        # One more than the limit, so that the caller can tell that errors were cut off.
        return [finding.error(path) for finding in list(result.findings.values())[: MAX_FINDINGS + 1]]


def compile_validator(schema: Schema) -> Validator:
    """Compile a schema.

    Args:
        schema: The schema, without references.
    """
    return Validator(schema)


class _Result:
    """The findings of a value.

    Attributes:
        findings: By their texts, each once.
        matches: How many checks there were that did not fail, roughly: of several alternatives that fail, the one
            with the most is reported.
    """

    __slots__ = ("findings", "matches")

    def __init__(self, findings: Iterable[ValueProblem] = (), matches: int = 0) -> None:
        # Keyed by text: kube-apiserver reports errors with equal texts once.
        self.findings = {finding.text: finding for finding in findings}
        self.matches = matches

    def add(self, finding: ValueProblem | None) -> None:
        if finding is not None:
            self.findings.setdefault(finding.text, finding)

    def merge(self, other: _Result) -> None:
        for text, inner in other.findings.items():
            self.findings.setdefault(text, inner)
        self.matches += other.matches


class _Node:
    """A schema of a value, or of a part of it. What follows from it is compiled when it is first needed.

    Schemas of well-known operators have ten thousand nodes, of which an object has a few dozen.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def fields(self) -> dict[str, _Node]:
        return {name: _Node(nested) for name, nested in self.schema.properties.items()}

    @cached_property
    def values(self) -> _Node | None:
        values = self.schema.additional_properties
        return _Node(values) if isinstance(values, Schema) else None

    @cached_property
    def items(self) -> _Node | None:
        return None if self.schema.items is None else _Node(self.schema.items)

    @cached_property
    def all_of(self) -> list[_Node]:
        return [_Node(alternative) for alternative in self.schema.all_of]

    @cached_property
    def any_of(self) -> list[_Node]:
        return [_Node(alternative) for alternative in self.schema.any_of]

    @cached_property
    def one_of(self) -> list[_Node]:
        return [_Node(alternative) for alternative in self.schema.one_of]

    @cached_property
    def not_(self) -> _Node | None:
        return None if self.schema.not_ is None else _Node(self.schema.not_)

    @cached_property
    def alternatives(self) -> list[Check]:
        return _alternative_checks(self)

    @cached_property
    def checks(self) -> Checks:
        return _compile_checks(self)

    def is_valid(self, value: object) -> bool:
        check = self.checks.get(type(value))
        return check is not None and check(value)

    def linked_result(self, value: Json, path: str, link: Correlated | None) -> _Result:
        """Validate a value; a value that equals its old value has no errors."""
        result = self.result(value, path, link)
        # Ratcheting: a value that an update leaves alone may stay invalid. Its matches still count for alternatives.
        if result.findings and link is not None and link.is_equal:
            return _Result(matches=result.matches)
        return result

    def result(
        self, value: Json, path: str, link: Correlated | None = None, *, is_alternative: bool = False
    ) -> _Result:
        """Validate a value.

        Args:
            value: The value.
            path: Its path.
            link: Its old value, if there is one.
            is_alternative: Whether it is one of several alternatives, so that matches are counted.
        """
        schema = self.schema
        wrong_type = type_finding(schema, value, path)
        result = _Result()
        result.add(wrong_type)
        if value is None:
            result.add(enum_finding(schema, value, path))
            # The server stops here for null, before any other constraint.
            result.matches = wrong_type is None
            return result
        if type_names(schema) or checked_format(schema):
            result.matches = 1 if wrong_type else 2
        # Which alternative is valid matters to an alternative around it only.
        if is_alternative or not all(holds(value) for holds in self.alternatives):
            result.merge(self._alternatives_result(value, path))
        if isinstance(value, str):
            # The weights of `matches` are the server's: they decide which failed alternative it reports.
            has_format = is_known(checked_format(schema), "string")
            result.merge(_Result(string_findings(schema, value, path), matches=1 + has_format))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            result.merge(_Result(number_findings(schema, value, path), matches=2))
        elif is_list(value):
            result.merge(self._list_result(value, path, link, is_alternative=is_alternative))
        result.add(enum_finding(schema, value, path))
        if is_object(value):
            result.merge(self._object_result(value, path, link, is_alternative=is_alternative))
        result.matches += 2
        return result

    def _alternatives_result(self, value: Json, path: str) -> _Result:
        """Check what other schemas say about the value. Old values do not count there."""
        result = _Result(matches=2)
        if self.any_of:
            self._add_any_of(result, value, path)
        if self.one_of:
            self._add_one_of(result, value, path)
        if self.all_of:
            results = [alternative.result(value, path, is_alternative=True) for alternative in self.all_of]
            for outcome in results:
                result.merge(outcome)
            valid = sum(not outcome.findings for outcome in results)
            # The errors of the parts come first, then the summary at the root.
            if valid < len(results):
                suffix = "" if valid else ". None validated"
                result.add(_at_root(f"{quoted(path)} must validate all the schemas (allOf){suffix}"))
        if self.not_ is not None and self.not_.is_valid(value):
            result.add(_at_root(f"{quoted(path)} must not validate the schema (not)"))
        return result

    def _add_any_of(self, result: _Result, value: Json, path: str) -> None:
        best: _Result | None = None
        for alternative in self.any_of:
            found = alternative.result(value, path, is_alternative=True)
            if not found.findings:
                result.merge(found)
                return
            # The earlier of two equally good alternatives is reported.
            if best is None or found.matches > best.matches:
                best = found
        result.add(_at_root(f"{quoted(path)} must validate at least one schema (anyOf)"))
        if best is not None:
            result.merge(best)

    def _add_one_of(self, result: _Result, value: Json, path: str) -> None:
        results = [alternative.result(value, path, is_alternative=True) for alternative in self.one_of]
        valid = [outcome for outcome in results if not outcome.findings]
        if len(valid) == 1:
            result.merge(valid[0])
            return
        problem = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        result.add(_at_root(f"{quoted(path)} must validate one and only one schema (oneOf). {problem}"))
        if not valid:
            result.merge(max(results, key=lambda outcome: outcome.matches))  # the first of those

    def _list_result(self, value: list[Json], path: str, link: Correlated | None, *, is_alternative: bool) -> _Result:
        schema = self.schema
        result = _Result(matches=2)
        if self.items is not None:
            for index, item in enumerate(value):
                child = None if link is None else link.index(index)
                self.items.add_result(result, item, f"{path}[{index}]", child, is_alternative=is_alternative)
                # A hostile list must not make the report arbitrarily long.
                if len(result.findings) > MAX_FINDINGS:
                    break
        count = len(value)
        if schema.min_items is not None and count < schema.min_items:
            text = f"{path} in body should have at least {schema.min_items} items"
            result.add(ValueProblem(text, path, "FieldValueInvalid", count, text))
        if schema.max_items is not None and count > schema.max_items:
            text = f"{path} in body should have at most {schema.max_items} items"
            result.add(_too_many(text, path, count, schema.max_items))
        if schema.unique_items and has_duplicates(value):
            text = f"{path} in body shouldn't contain duplicates"
            result.add(ValueProblem(text, path, "FieldValueInvalid", "", text))
        return result

    def _object_result(
        self, value: dict[str, Json], path: str, link: Correlated | None, *, is_alternative: bool
    ) -> _Result:
        schema = self.schema
        result = _Result(matches=1)
        count = len(value)
        if schema.min_properties is not None and count < schema.min_properties:
            text = f"{path} in body should have at least {schema.min_properties} properties"
            result.add(ValueProblem(text, path, "FieldValueInvalid", count, text))
        if schema.max_properties is not None and count > schema.max_properties:
            text = f"{path} in body should have at most {schema.max_properties} properties"
            result.add(_too_many(text, path, count, schema.max_properties))
        for name, inner in value.items():
            # Declared fields follow below: the server reports undeclared ones first.
            if name in self.fields:
                continue
            if self.values is not None:
                child = _child_link(link, path, name)
                self.values.add_result(result, inner, f"{path}.{name}", child, is_alternative=is_alternative)
            elif schema.additional_properties is False:
                text = f"{path}.{name} in body is a forbidden property"
                result.add(ValueProblem(text, path, "FieldValueInvalid", name, text))
            if len(result.findings) > MAX_FINDINGS:
                break
        for name, node in self.fields.items():
            if name in value:
                child = _child_link(link, path, name)
                child_path = f"{path}.{name}" if path else name
                node.add_result(result, value[name], child_path, child, is_alternative=is_alternative)
        for name in schema.required:
            if name not in value:
                # At the root this begins with a dot, which `ValueProblem.error` removes.
                missing = f"{path}.{name}"
                result.add(ValueProblem(f"{missing} in body is required", missing, "FieldValueRequired", "", ""))
        return result

    def add_result(
        self, result: _Result, value: Json, path: str, link: Correlated | None, *, is_alternative: bool
    ) -> None:
        """Add the result of a field or item. Of a valid one, only the matches would count."""
        if is_alternative:
            result.merge(self.result(value, path, link, is_alternative=True))
        elif not self.is_valid(value):
            result.merge(self.linked_result(value, path, link))


_NOTHING: Final = _Node(Schema())
"""A node that is valid for no value."""
_NOTHING.checks = {}


def _child_link(link: Correlated | None, path: str, name: str) -> Correlated | None:
    # The type of an old object is that of the new one, whatever is stored.
    if link is None or (not path and name in _TYPE_FIELDS):
        return None
    return link.key(name)


def _at_root(text: str) -> ValueProblem:
    return ValueProblem(text, None, "FieldValueInvalid", "", text)


def _too_many(text: str, path: str, count: int, limit: int) -> ValueProblem:
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}"
    # A negative limit has a message without a number, as in Go.
    if limit < 0:
        detail = "has too many items"
    return ValueProblem(text, path, "FieldValueTooMany", count, detail)


_SAMPLES: Final[tuple[object, ...]] = (None, True, "", 0, [], {})


def _compile_checks(node: _Node) -> Checks:
    schema = node.schema
    checks: Checks = {}
    for sample in _SAMPLES:
        if type_finding(schema, sample, "") is None:
            checks[type(sample)] = _all_hold(_checks_of(node, type(sample)))
    if type_finding(schema, 0.5, "") is None:
        checks[float] = _all_hold(_checks_of(node, float))
    # An integer type accepts 1.0, but not 0.5: the value decides.
    elif type_finding(schema, 1.0, "") is None:
        checks[float] = _all_hold([is_integral, *_checks_of(node, float)])
    return checks


def _all_hold(checks: list[Check]) -> Check:
    if not checks:
        return _always
    if len(checks) == 1:
        return checks[0]
    return lambda value: all(check(value) for check in checks)


def _always(_value: Json) -> bool:
    return True


def _checks_of(node: _Node, kind: type) -> list[Check]:
    schema = node.schema
    found: list[Check] = []
    if kind is dict:
        found += _object_checks(node)
    elif kind is list:
        found += _list_checks(node)
    elif kind is str:
        found += _string_checks(schema)
    elif kind in {int, float}:
        found += _number_checks(schema, kind)
    if schema.enum and kind is str:
        # A text is equal to texts only.
        members = frozenset(choice for choice in schema.enum if isinstance(choice, str))
        found.append(members.__contains__)
    elif schema.enum:
        found.append(lambda value: enum_finding(schema, value, "") is None)
    # Alternatives do not apply to null.
    if kind is type(None):
        return found
    return [*found, *node.alternatives]


def _string_checks(schema: Schema) -> list[Check]:
    found: list[Check] = []
    if schema.min_length is not None or schema.max_length is not None:
        fewest, most = _bounds(schema.min_length, schema.max_length)
        found.append(lambda value: fewest <= len(value) <= most)
    if schema.pattern:
        found.append(lambda value: pattern_problem(schema.pattern, value) is None)
    if is_known(name := checked_format(schema), "string"):
        found.append(string_format(name))
    return found


def _number_checks(schema: Schema, kind: type) -> list[Check]:
    limits = [limit for limit in (schema.minimum, schema.maximum, schema.multiple_of) if limit is not None]
    if kind is int and not limits and checked_format(schema) != "int32":
        # Any integer; integers too large for the type are floats.
        return []
    if (
        kind is int
        and schema.multiple_of is None
        and all(-_INT32 <= limit < _INT32 and limit == int(limit) for limit in limits)
    ):
        # Simple limits of integers, of any format.
        lowest = -_INT32 if schema.format == "int32" else -math.inf
        highest = _INT32 - 1 if schema.format == "int32" else math.inf
        if schema.minimum is not None:
            lowest = max(lowest, schema.minimum + schema.exclusive_minimum)
        if schema.maximum is not None:
            highest = min(highest, schema.maximum - schema.exclusive_maximum)
        return [lambda value: lowest <= value <= highest]
    return [lambda value: next(number_findings(schema, value, ""), None) is None]


def _alternative_checks(node: _Node) -> list[Check]:
    found: list[Check] = [alternative.is_valid for alternative in node.all_of]
    if any_of := [alternative.is_valid for alternative in node.any_of]:
        found.append(lambda value: any(check(value) for check in any_of))
    if one_of := [alternative.is_valid for alternative in node.one_of]:
        found.append(lambda value: sum(check(value) for check in one_of) == 1)
    if (not_ := node.not_) is not None:
        found.append(lambda value: not not_.is_valid(value))
    return found


def _list_checks(node: _Node) -> list[Check]:
    schema = node.schema
    found: list[Check] = []
    if schema.min_items is not None or schema.max_items is not None:
        fewest, most = _bounds(schema.min_items, schema.max_items)
        found.append(lambda value: fewest <= len(value) <= most)
    if (items := node.items) is not None:

        def items_are_valid(value: list[object]) -> bool:
            checks = items.checks
            for item in value:
                check = checks.get(type(item))
                if check is None or not check(item):
                    return False
            return True

        found.append(items_are_valid)
    if schema.unique_items:
        found.append(lambda value: not has_duplicates(value))
    return found


def _object_checks(node: _Node) -> list[Check]:
    schema = node.schema
    found: list[Check] = []
    if schema.min_properties is not None or schema.max_properties is not None:
        fewest, most = _bounds(schema.min_properties, schema.max_properties)
        found.append(lambda value: fewest <= len(value) <= most)
    if schema.required:
        required = frozenset(schema.required)
        found.append(lambda value: required <= value.keys())
    fields = node.fields
    others = _NOTHING if schema.additional_properties is False else node.values
    if fields or others is not None:

        def fields_are_valid(value: dict[str, object]) -> bool:
            for name, inner in value.items():
                child = fields.get(name, others)
                if child is not None:
                    check = child.checks.get(type(inner))
                    if check is None or not check(inner):
                        return False
            return True

        found.append(fields_are_valid)
    return found


def _bounds(fewest: int | None, most: int | None) -> tuple[float, float]:
    return fewest or 0, float("inf") if most is None else most


def has_duplicates(values: list[Json]) -> bool:
    """Tell whether two values of a list are equal."""
    return len({identity(value) for value in values}) < len(values)

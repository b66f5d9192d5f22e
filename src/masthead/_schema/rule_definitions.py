"""Checks of a definition's validation rules: their form, their expressions and their cost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._cel.library.strings import trim_space
from masthead._schema.errors import FieldError, forbidden, internal_error, invalid, not_supported, required
from masthead._schema.rule_paths import FieldPathError, resolve_field_path
from masthead._schema.rule_types import MAX_REQUEST, DeclaredType, declare, escape
from masthead._schema.rules import CompiledRule, compile_rule
from masthead._schema.schema import Json, Rule, Schema

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

__all__ = ["expression_problems", "rule_form_problems", "rule_problems"]

_RULE_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_MAX_EXPENSIVE_RULES: Final = 4
_MAX_COST: Final = 2**64 - 1
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NEWLINE: Final = re.compile(r"[\n\r]")
_SELF_TYPE: Final = "selfType"
_NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)


def rule_form_problems(schema: Schema, path: str) -> list[FieldError]:
    """Return the errors in the form of one schema's rules, without nested schemas.

    Args:
        schema: The schema.
        path: Its path in the definition.
    """
    problems: list[FieldError] = []
    for index, rule in enumerate(schema.rules):
        problems += _form_problems(rule, schema, f"{path}.x-kubernetes-validations[{index}]")
    return problems


def _form_problems(rule: Rule, schema: Schema, path: str) -> Iterator[FieldError]:
    text, message = trim_space(rule.rule), trim_space(rule.message)
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif rule.message and not message:
        yield invalid(f"{path}.message", rule.message, "must be non-empty if specified")
    elif _NEWLINE.search(message):
        yield invalid(f"{path}.message", rule.message, "must not contain line breaks")
    elif _NEWLINE.search(text) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.message_expression and not trim_space(rule.message_expression):
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.reason is not None and rule.reason not in _REASONS:
        yield not_supported(f"{path}.reason", rule.reason, _REASONS)
    yield from _path_problems(rule, schema, f"{path}.fieldPath")


def _path_problems(rule: Rule, schema: Schema, path: str) -> Iterator[FieldError]:
    if not rule.field_path:
        return
    if not trim_space(rule.field_path):
        yield invalid(path, rule.field_path, "must be non-empty if specified")
    if _NEWLINE.search(rule.field_path):
        yield invalid(path, rule.field_path, "must not contain line breaks")
    try:
        resolve_field_path(rule.field_path, schema)
    except FieldPathError:
        yield invalid(path, rule.field_path, "must be a valid path")


def rule_problems(schema: Schema, path: str) -> list[FieldError]:
    """Return the errors of all rules of a structural schema.

    Malformed rules are not compiled, nor are the rules of enclosing schemas.

    Args:
        schema: The schema of a custom resource.
        path: Its path in the definition, such as ``spec.validation.openAPIV3Schema``.
    """
    review = _Review()
    root = _Place(path, is_root=True, cardinality=1, uncorrelated="")
    review.visit(schema, root, declare(schema, is_root=True))
    return [*review.form, *review.compiled, *review.total_problems(path)]


def expression_problems(
    schema: Schema, path: str, sound: Container[str], *, limits_each: bool = True
) -> list[FieldError]:
    """Return the errors in the expressions of a structural schema's rules.

    Args:
        schema: The schema of a custom resource.
        path: Its path in the definition.
        sound: The paths of the schemas without other errors, whose rules are compiled.
        limits_each: Whether the cost of a single rule is limited; that of all rules together always is.
    """
    review = _Review(sound, limits_each=limits_each)
    root = _Place(path, is_root=True, cardinality=1, uncorrelated="")
    review.visit(schema, root, declare(schema, is_root=True))
    return [*review.compiled, *review.total_problems(path)]


class _Place(NamedTuple):
    """Where a schema is.

    Attributes:
        path: Its path in the definition.
        is_root: Whether it is a whole object.
        cardinality: How many values of it an object can have; None if the schemas around set no limit.
        uncorrelated: The path of the schema around it whose items have no old values; empty if all have.
    """

    path: str
    is_root: bool
    cardinality: int | None
    uncorrelated: str


class _Review:
    """Walks through a schema, and collects problems and costs."""

    def __init__(self, sound: Container[str] | None = None, *, limits_each: bool = True) -> None:
        self._sound = sound
        self._limits_each = limits_each
        self.form: list[FieldError] = []
        self.compiled: list[FieldError] = []
        self._total = 0
        self._expensive: list[tuple[int, str]] = []

    def visit(self, schema: Schema, place: _Place, declared: DeclaredType | None) -> None:
        """Review a schema after its nested schemas."""
        found = len(self.form)
        for name, child, inner in _children(schema, place):
            self.visit(child, inner, _declared_child(name, child, declared))
        if self._sound is None:
            self.form += rule_form_problems(schema, place.path)
            is_sound = len(self.form) == found
        else:
            is_sound = place.path in self._sound
        if schema.rules and is_sound:
            self._compile_all(schema, place, declared)

    def _compile_all(self, schema: Schema, place: _Place, declared: DeclaredType | None) -> None:
        path = f"{place.path}.x-kubernetes-validations"
        if declared is None:
            self.compiled.append(internal_error(path, _NO_TYPE))
            return
        self_type = declared.named(_SELF_TYPE)
        for index, rule in enumerate(schema.rules):
            compiled = compile_rule(rule, schema, self_type)
            self._review_rule(compiled, declared, place, f"{path}[{index}]")

    def _review_rule(self, compiled: CompiledRule, declared: DeclaredType, place: _Place, path: str) -> None:
        cost = 0
        if compiled.program is not None:
            cardinality = place.cardinality
            if cardinality is None:
                cardinality = MAX_REQUEST // (declared.min_size + 1)
            cost = min(compiled.program.estimate(declared.size_of) * cardinality, _MAX_COST)
        self._observe(f"{path}.rule", cost, "estimated rule cost")
        if compiled.error:
            self.compiled.append(invalid(f"{path}.rule", _describe_rule(compiled.rule), compiled.error))
        if compiled.message_error:
            self.compiled.append(
                invalid(f"{path}.messageExpression", _describe_rule(compiled.rule), compiled.message_error)
            )
        elif compiled.message_program is not None:
            message_cost = compiled.message_program.estimate(declared.size_of)
            self._observe(f"{path}.messageExpression", message_cost, "estimated messageExpression cost")
        self._review_old_self(compiled, place, path)

    def _review_old_self(self, compiled: CompiledRule, place: _Place, path: str) -> None:
        if compiled.uses_old_self:
            if place.uncorrelated:
                detail = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
                )
                self.compiled.append(invalid(f"{path}.rule", compiled.rule.rule, detail))
        elif compiled.rule.optional_old_self is not None:
            detail = "may not be set if oldSelf is not used in rule"
            self.compiled.append(invalid(f"{path}.optionalOldSelf", compiled.rule.optional_old_self, detail))

    def _observe(self, path: str, cost: int, name: str) -> None:
        if cost > _RULE_LIMIT and self._limits_each:
            self.compiled.append(forbidden(path, _excess(name, cost, _RULE_LIMIT)))
        self._total = min(self._total + cost, _MAX_COST)
        if cost >= _TOTAL_LIMIT // 100:
            self._expensive.append((cost, path))

    def total_problems(self, path: str) -> Iterator[FieldError]:
        """Yield an error if all rules together cost too much."""
        if self._total <= _TOTAL_LIMIT:
            return
        ordered = sorted(self._expensive, key=lambda pair: -pair[0])
        for _, expensive in ordered[:_MAX_EXPENSIVE_RULES]:
            yield forbidden(
                expensive,
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
            )
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden(path, _excess(name, self._total, _TOTAL_LIMIT))


def _children(schema: Schema, place: _Place) -> Iterator[tuple[str, Schema, _Place]]:
    """Yield the name, the schema and the place of values, fields and items."""
    count = _elements(schema)
    cardinality = None
    if place.cardinality is not None and count is not None:
        cardinality = min(place.cardinality * count, _MAX_COST)

    def inner(path: str, child: Schema, uncorrelated: str) -> _Place:
        return _Place(path, child.embedded_resource, cardinality, uncorrelated)

    if isinstance(schema.additional_properties, Schema):
        values = schema.additional_properties
        yield "@values", values, inner(f"{place.path}.additionalProperties", values, place.uncorrelated)
    uncorrelated = place.uncorrelated
    if schema.map_type not in {None, "granular", "atomic"}:
        uncorrelated = uncorrelated or place.path
    for name, child in schema.properties.items():
        yield name, child, inner(f"{place.path}.properties[{name}]", child, uncorrelated)
    if schema.items is not None:
        uncorrelated = place.uncorrelated
        if schema.list_type != "map":
            uncorrelated = uncorrelated or place.path
        yield "@items", schema.items, inner(f"{place.path}.items", schema.items, uncorrelated)


def _elements(schema: Schema) -> int | None:
    """How many children a value has at most; None if there is no limit."""
    if schema.type == "object" and schema.additional_properties is not None:
        return None if schema.max_properties is None else max(schema.max_properties, 0)
    if schema.type == "array":
        return None if schema.max_items is None else max(schema.max_items, 0)
    return 1


def _declared_child(name: str, child: Schema, declared: DeclaredType | None) -> DeclaredType | None:
    found: DeclaredType | None = None
    if declared is not None:
        found = declared.items if name in {"@items", "@values"} else declared.fields.get(escape(name) or "")
    # A value that the enclosing type hides can still have rules.
    return found or declare(child, is_root=child.embedded_resource)


def _excess(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems, maxProperties, and "
        "maxLength where arrays, maps, and strings are declared)"
    )


def _describe_rule(rule: Rule) -> dict[str, Json]:
    """The rule as the server's message shows it."""
    return {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self,
    }

"""Validation rules: ``x-kubernetes-validations``, compiled for a schema and evaluated for objects.

`RuleSet` has the rules of a whole schema. `rule_problems` (in `rule_definitions`) checks the rules themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._cel.compiler import ProgramError
from masthead._cel.errors import NO_OVERLOAD, CompileError, CostError, EvaluationError
from masthead._cel.library.strings import trim_space
from masthead._cel.program import Program
from masthead._cel.types import optional_of
from masthead._cel.values import NONE, OptionalValue
from masthead._meta.quoting import quoted
from masthead._schema.correlation import Correlated, Ratcheting
from masthead._schema.errors import (
    OMITTED,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
)
from masthead._schema.rule_paths import FieldPathError, resolve_field_path
from masthead._schema.rule_types import DeclaredType, converter, declare, escape
from masthead._schema.schema import Json, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cel.types import Type
    from masthead._schema.schema import Rule

__all__ = ["COST_BUDGET", "CompiledRule", "RuleSet", "compile_rule", "compile_rules"]

COST_BUDGET: Final = 10_000_000
"""What all rules of one object may cost."""

_MAX_MESSAGE: Final = 5 * 1024
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_MESSAGE_OUT_OF_BUDGET: Final = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
)
_SELF_TYPE: Final = "selfType"
_NO_PATH: Final = "<nil>"
"""How the server writes the path of the object itself."""


class CompiledRule(NamedTuple):
    """A rule, compiled; an empty one has neither program nor error.

    Attributes:
        rule: The rule.
        program: Its expression.
        error: Why the expression does not compile.
        message_program: The expression of its message.
        message_error: Why that does not compile.
        field_path: The field that errors name, relative to the value.
    """

    rule: Rule
    program: Program | None
    error: str
    message_program: Program | None
    message_error: str
    field_path: str

    @property
    def uses_old_self(self) -> bool:
        """Whether it is a transition rule: it compares the value with the one before."""
        return self.program is not None and "oldSelf" in self.program.names

    @property
    def text(self) -> str:
        """How errors call it: its message, or its expression."""
        return trim_space(self.rule.message or self.rule.rule)


def compile_rule(rule: Rule, schema: Schema, self_type: Type) -> CompiledRule:
    """Compile one rule.

    Args:
        rule: The rule.
        schema: The schema that it belongs to.
        self_type: The type of ``self``.
    """
    if not trim_space(rule.rule):
        return CompiledRule(rule, None, "", None, "", "")
    old_type = optional_of(self_type) if rule.optional_old_self else self_type
    variables = {"self": self_type, "oldSelf": old_type}
    program, error = _compile(rule.rule, variables, "")
    # A dynamic result is no bool either: the rule would have to be evaluated to know.
    if program is not None and program.type.kind != "bool":
        program, error = None, "cel expression must evaluate to a bool"
    if program is None:
        return CompiledRule(rule, None, error, None, "", "")
    message, message_error = None, ""
    # A broken message expression does not invalidate the rule: the plain message is used.
    if rule.message_expression:
        message, message_error = _compile_message(rule, variables)
    return CompiledRule(rule, program, "", message, message_error, _field_path(rule, schema))


def _compile(source: str, variables: dict[str, Type], name: str) -> tuple[Program | None, str]:
    try:
        return Program(source, variables), ""
    except CompileError as error:
        return None, f"{name}compilation failed: {error}"
    except ProgramError as error:
        return None, f"{name or 'program '}instantiation failed: {error}"


def _compile_message(rule: Rule, variables: dict[str, Type]) -> tuple[Program | None, str]:
    program, error = _compile(rule.message_expression, variables, "messageExpression ")
    if program is not None and program.type.kind != "string":
        return None, "messageExpression must evaluate to a string"
    return program, error


def _field_path(rule: Rule, schema: Schema) -> str:
    if not rule.field_path:
        return ""
    try:
        return resolve_field_path(rule.field_path, schema)[0]
    # The definition may be older than the check of its paths: report the error at the value itself.
    except FieldPathError:
        return ""


class _Run:
    """The state of one validation: the errors so far, and the remaining budget."""

    def __init__(self, budget: int, warnings: list[str] | None) -> None:
        self.errors: list[FieldError] = []
        self.budget = budget
        self._warnings = warnings

    def add(self, error: FieldError, *, is_ratcheted: bool) -> None:
        if not is_ratcheted:
            self.errors.append(error)
        # Ratcheting turns an error of an unchanged value into a warning.
        elif self._warnings is not None:
            self._warnings.append(str(error))

    def stop(self, error: FieldError) -> None:
        """Report an error after which no rule is evaluated."""
        self.errors.append(error)
        # Negative means that nothing more is evaluated; zero still has to be reported by the next rule.
        self.budget = -1


class RuleSet:
    """The rules of a schema, at every level."""

    def __init__(self, schema: Schema, *, is_root: bool = True) -> None:
        """Compile all rules of a schema.

        Args:
            schema: The schema.
            is_root: Whether it is that of a whole object.
        """
        self._schema = schema
        self._root = _compile_level(schema, declare(schema, is_root=is_root), is_root=is_root)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return self._root is not None

    def errors(
        self,
        value: Json,
        old: Json = None,
        *,
        path: str = "",
        budget: int = COST_BUDGET,
        warnings: list[str] | None = None,
        ratchets: bool = True,
    ) -> list[FieldError]:
        """Evaluate the rules for an object that is valid by its schema.

        Args:
            value: The object.
            old: The object before an update; None if it is created.
            path: What precedes the fields of errors.
            budget: What all rules together may cost.
            warnings: Gets the errors of values that the update does not change: they do not count.
            ratchets: Whether they do not; otherwise they count.

        Returns:
            The errors.
        """
        run = _Run(budget, warnings)
        self._evaluate(run, path, value, old, ratchets=ratchets)
        return run.errors

    def errors_within(self, value: Json, old: Json = None, *, cost: int) -> list[FieldError] | None:
        """Evaluate the rules for an object, if that is cheap.

        Args:
            value: The object.
            old: The object before an update; None if it is created.
            cost: What all rules together may cost.

        Returns:
            The errors, as `errors` returns them; None if the rules cost more.
        """
        run = _Run(cost, None)
        self._evaluate(run, "", value, old, ratchets=True)
        return run.errors if run.budget >= 0 else None

    def _evaluate(self, run: _Run, path: str, value: Json, old: Json, *, ratchets: bool) -> None:
        if self._root is None:
            return
        ratchet = Ratcheting()
        # Without an old value nothing is unchanged.
        if ratchets and old is not None:
            ratchet = Ratcheting(Correlated(value, old, self._schema))
        self._root.validate(run, path, value, old, ratchet)


def compile_rules(schema: Schema, *, is_root: bool = True) -> RuleSet:
    """Compile all rules of a schema. It takes a while: keep the result.

    Args:
        schema: The schema.
        is_root: Whether it is that of a whole object, such as a custom resource.
    """
    return RuleSet(schema, is_root=is_root)


class _Level:
    """The rules of one schema, and those of its fields and items."""

    __slots__ = ("_convert", "_kind", "_rules", "_schema", "fields", "items", "values")

    def __init__(self, schema: Schema, rules: list[CompiledRule], *, is_root: bool) -> None:
        self._schema = schema
        self._kind = schema.type
        self._rules = rules
        self._convert: Callable[[Json], Json] = converter(schema, is_root=is_root) or _identity
        self.items: _Level | None = None
        self.values: _Level | None = None
        self.fields: dict[str, _Level] = {}

    @property
    def has_rules(self) -> bool:
        """Whether there is a rule here, or further down."""
        return bool(self._rules or self.items or self.values or self.fields)

    def validate(self, run: _Run, path: str, value: Json, old: Json, ratchet: Ratcheting) -> None:
        """Evaluate the rules for a value and its nested values."""
        if value is None:
            return
        if self._rules:
            self._evaluate_all(run, path, value, old, ratchet)
        # A list cannot be correlated with an object: its parts count as new then.
        same_kind: Json = old if type(old) is type(value) else None
        if value.__class__ is list:
            self._validate_items(run, path, value, same_kind or [], ratchet)
        elif value.__class__ is dict:
            self._validate_fields(run, path, value, same_kind or {}, ratchet)

    def _validate_fields(
        self, run: _Run, path: str, value: dict[str, Json], old: dict[str, Json], ratchet: Ratcheting
    ) -> None:
        for name, entry in value.items():
            if run.budget < 0:
                return
            if self.values is not None:
                self.values.validate(run, f"{path}[{name}]", entry, old.get(name), ratchet.key(name))
            elif name in self.fields:
                inner = f"{path}.{name}" if path else name
                self.fields[name].validate(run, inner, entry, old.get(name), ratchet.key(name))

    def _validate_items(self, run: _Run, path: str, value: list[Json], old: list[Json], ratchet: Ratcheting) -> None:
        if self.items is None:
            return
        # Items of a list with keys are correlated by key, others have no old value.
        before = Correlated(value, old, self._schema)
        for index, item in enumerate(value):
            if run.budget < 0:
                return
            self.items.validate(run, f"{path}[{index}]", item, before.old_item(item), ratchet.index(index))

    def _evaluate_all(self, run: _Run, path: str, value: Json, old: Json, ratchet: Ratcheting) -> None:
        field = path or _NO_PATH
        if run.budget <= 0:
            if run.budget == 0:
                run.stop(invalid(field, self._kind, _OUT_OF_BUDGET))
            return
        try:
            bound = self._convert(value)
            before = None if old is None else self._convert(old)
        except EvaluationError as error:
            # The value cannot be converted, so every rule of this level fails in the same way.
            for rule in self._rules:
                self._report_failure(run, path, rule, str(error), is_cost=False)
            return
        for rule in self._rules:
            if rule.error:
                run.errors.append(invalid(field, self._kind, f"rule compile error: {rule.error}"))
            elif rule.program is not None and not (
                # A transition rule is skipped if there is no transition.
                rule.uses_old_self and old is None and not rule.rule.optional_old_self
            ):
                old_self = before
                if rule.rule.optional_old_self:
                    old_self = NONE if before is None else OptionalValue(before)
                self._evaluate(run, path, value, rule, (bound, old_self), ratchet)
            if run.budget < 0:
                return

    def _evaluate(
        self,
        run: _Run,
        path: str,
        value: Json,
        compiled: CompiledRule,
        values: tuple[Json, Json],
        ratchet: Ratcheting,
    ) -> None:
        assert compiled.program is not None
        outcome = compiled.program.evaluate(*values)
        # A program stops at its own limit, which may exceed the remaining budget.
        if outcome.cost > run.budget:
            run.stop(invalid(path or _NO_PATH, self._kind, _OUT_OF_BUDGET))
            return
        run.budget -= outcome.cost
        if outcome.error is not None:
            self._report_failure(run, path, compiled, str(outcome.error), is_cost=isinstance(outcome.error, CostError))
        elif outcome.value is not True:
            self._report_violation(run, path, value, compiled, values, ratchet)

    def _report_failure(self, run: _Run, path: str, compiled: CompiledRule, error: str, *, is_cost: bool) -> None:
        """A rule has no value: that is an error of the object, too."""
        path = path or _NO_PATH
        if is_cost:
            detail = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: "
            run.stop(invalid(path, self._kind, f"{detail}{compiled.text}"))
        elif error.startswith(NO_OVERLOAD):
            detail = (
                f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: "
            )
            run.errors.append(invalid(path, self._kind, f"{detail}{compiled.text}"))
        else:
            run.errors.append(invalid(path, self._kind, f"{error} evaluating rule: {compiled.text}"))

    def _report_violation(
        self,
        run: _Run,
        path: str,
        value: Json,
        compiled: CompiledRule,
        values: tuple[Json, Json],
        ratchet: Ratcheting,
    ) -> None:
        field = _join(path, compiled.field_path)
        # A transition rule is about the change, so it always counts.
        is_ratcheted = not compiled.uses_old_self and ratchet.is_unchanged
        message = ""
        if compiled.message_program is not None:
            outcome = compiled.message_program.evaluate(*values)
            problem = _message_problem(compiled, outcome.cost, run.budget, outcome.error)
            if problem:
                run.add(invalid(field, self._kind, problem), is_ratcheted=is_ratcheted)
                run.budget = -1
                return
            run.budget -= outcome.cost
            message = _usable_message(outcome.value)
        detail = message or trim_space(compiled.rule.message) or f"failed rule: {compiled.text}"
        shown = OMITTED if self._kind in {"object", "array"} else value
        run.add(_error_for(compiled.rule.reason, field, shown, detail), is_ratcheted=is_ratcheted)


def _identity(value: Json) -> Json:
    return value


def _join(path: str, relative: str) -> str:
    if not path or not relative:
        return path or relative or _NO_PATH
    return f"{path}.{relative}"


def _message_problem(compiled: CompiledRule, cost: int, budget: int, error: Exception | None) -> str:
    if cost > budget:
        return _MESSAGE_OUT_OF_BUDGET
    if isinstance(error, CostError):
        return (
            "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
            f"{quoted(compiled.rule.message_expression)}"
        )
    return ""


def _usable_message(value: Json) -> str:
    """The message of an expression; empty if it cannot be used: too long, of several lines, or none."""
    if not isinstance(value, str):
        return ""
    text = trim_space(value)
    # The server falls back to the plain message for texts that would break its format.
    return "" if "\n" in text or len(text.encode("utf-8", "surrogatepass")) > _MAX_MESSAGE else text


def _error_for(reason: str | None, path: str, value: object, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return forbidden(path, detail)
    if reason == "FieldValueRequired":
        return required(path, detail)
    if reason == "FieldValueDuplicate":
        return duplicate(path, value)
    return invalid(path, value, detail)


def _compile_level(schema: Schema, declared: DeclaredType | None, *, is_root: bool) -> _Level | None:
    """Compile the rules of one schema and its nested schemas.

    Args:
        schema: The schema.
        declared: Its type.
        is_root: Whether it is a whole object.

    Returns:
        None if there are no rules.
    """
    rules: list[CompiledRule] = []
    if schema.rules and declared is not None:
        self_type = declared.named(_SELF_TYPE)
        rules = [compile_rule(rule, schema, self_type) for rule in schema.rules]
    level = _Level(schema, rules, is_root=is_root)
    inner = declared.items if declared is not None else None
    if schema.items is not None:
        level.items = _compile_level(schema.items, inner, is_root=schema.items.embedded_resource)
    values = schema.additional_properties
    if isinstance(values, Schema):
        level.values = _compile_level(values, inner, is_root=values.embedded_resource)
    for name, nested in schema.properties.items():
        if (field := _compile_field(name, nested, declared)) is not None:
            level.fields[name] = field
    # Levels without rules are not compiled, so that validation skips whole subtrees.
    return level if level.has_rules else None


def _compile_field(name: str, schema: Schema, declared: DeclaredType | None) -> _Level | None:
    escaped = escape(name)
    if escaped is None:
        # It has no name in expressions, but its schema can have rules.
        type_ = declare(schema, is_root=schema.embedded_resource)
    else:
        type_ = declared.fields.get(escaped) if declared is not None else None
    return None if type_ is None else _compile_level(schema, type_, is_root=schema.embedded_resource)

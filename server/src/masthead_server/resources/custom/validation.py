"""Validation of custom resources: the schema, lists with keys, embedded objects, the scale, and rules."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from masthead._schema.errors import FieldError, errors_so_far, invalid
from masthead._schema.list_types import list_errors
from masthead._schema.validation import compile_validator
from masthead_server.resources.behavior import SlowValidation
from masthead_server.resources.custom.definition import schema_of_version
from masthead_server.resources.custom.object_metadata import embedded_errors
from masthead_server.resources.custom.slow_validation import is_large

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import UnsetType

    from masthead._schema.rules import RuleSet
    from masthead._schema.validation import Validator
    from masthead_server.resources.custom.definition import DefinitionVersion
    from masthead_server.resources.custom.scale import PathScale
    from masthead_server.wire.plain import Plain

__all__ = ["ObjectValidator"]


_MAX_LOOP_COST: Final = 100_000
"""CEL cost of rules that are evaluated on the event loop: some ten milliseconds."""

_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""The errors that keep rules from being evaluated: those rely on types and limits."""
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class _CostlyRules(Exception):  # noqa: N818 - the object may be valid
    """The rules of a small object cost more than the event loop can afford."""


@functools.lru_cache(maxsize=32)
def _compile(text: bytes) -> tuple[Validator, Validator | None]:
    """Return the validators of the objects of a version, and of their status; the text has the whole version."""
    schema = schema_of_version(text)
    status = schema.properties.get("status")
    return compile_validator(schema), None if status is None else compile_validator(status)


class ObjectValidator:
    """Validates the objects of a custom resource in one version.

    Objects come as `SchemaCodec` returns them: without kind and apiVersion, unless the kind is another one.

    Args:
        version: The version.
        scale: Where it has its replicas; None if it has no scale.
    """

    def __init__(self, version: DefinitionVersion, scale: PathScale | None) -> None:
        self._version = version
        self._scale = scale
        self._head = {"apiVersion": version.gvk.api_version, "kind": version.gvk.kind}

    @functools.cached_property
    def _validator(self) -> Validator:
        return _compile(self._version.key)[0]

    @functools.cached_property
    def _status_validator(self) -> Validator | None:
        return _compile(self._version.key)[1]

    @functools.cached_property
    def _rules(self) -> RuleSet | None:
        if not self._version.has_rules:
            return None
        # Imported with the first definition that has rules: the language is large.
        from masthead._schema.rules import compile_rules

        return compile_rules(self._version.schema)

    def create_errors(self, found: Plain) -> list[FieldError]:
        """Return the errors of a new object, besides those of its metadata.

        Raises:
            SlowValidation: If a thread has to find them, as in the other methods.
        """
        return self._find(self._create_errors, found)

    def update_errors(self, new: Plain, old: Plain) -> list[FieldError]:
        """Return the errors of a change; unchanged violations are excused."""
        return self._find(self._update_errors, new, old)

    def status_errors(self, new: Plain, old: Plain) -> list[FieldError]:
        """Return the errors of a change of the status."""
        return self._find(self._status_errors, new, old)

    def _find(self, find: Callable[..., list[FieldError]], *objects: Plain) -> list[FieldError]:
        """Find the errors of an object on the event loop, if that is fast."""
        is_slow = self._version.has_many_alternatives or self._has_rules_to_compile
        if not is_slow and not any(map(is_large, objects)):
            try:
                return find(*objects, max_cost=_MAX_LOOP_COST)
            except _CostlyRules:
                # The cost of rules shows only in their evaluation; it begins again in the thread, without this limit.
                pass
        raise SlowValidation(functools.partial(find, *objects, max_cost=None))

    @property
    def _has_rules_to_compile(self) -> bool:
        """Whether the next object is the first one: definitions may have thousands of rules."""
        return self._version.has_rules and "_rules" not in vars(self)

    def _create_errors(self, found: Plain, *, max_cost: int | None) -> list[FieldError]:
        if errors := self._kind_errors(found):
            return errors
        errors = [
            *self._schema_errors(found),
            *self._scale_errors(found),
            *self._embedded_errors(found),
            *self._list_errors(found),
        ]
        return [*errors, *self._rule_errors(errors, found, max_cost=max_cost)]

    def _update_errors(self, new: Plain, old: Plain, *, max_cost: int | None) -> list[FieldError]:
        if errors := self._kind_errors(new):
            return errors
        errors = [
            *self._schema_errors(new, old),
            *self._scale_errors(new),
            *self._embedded_errors(new),
            *self._new_list_errors(new, old),
        ]
        return [*errors, *self._rule_errors(errors, new, old, max_cost=max_cost)]

    def _status_errors(self, new: Plain, old: Plain, *, max_cost: int | None) -> list[FieldError]:
        errors: list[FieldError] = []
        if "status" in new and self._status_validator is not None:
            errors += self._status_validator.errors(new["status"], old.get("status"), path="status")
        if self._scale is not None:
            errors += self._scale.status_errors(new)
        errors += self._new_list_errors(new, old)
        return [*errors, *self._rule_errors(errors, new, old, max_cost=max_cost)]

    def _kind_errors(self, found: Plain) -> list[FieldError]:
        """Return the errors of an object of another kind or version, which has ``kind`` and ``apiVersion``."""
        names = (name for name in ("kind", "apiVersion") if name in found)
        return [invalid(name, found[name], f"must be {self._head[name]}") for name in names]

    def _schema_errors(self, new: Plain, old: Plain | UnsetType = UNSET) -> list[FieldError]:
        head = self._head
        before = UNSET if old is UNSET else {**head, **old}
        return self._validator.errors({**head, **new}, before)

    def _scale_errors(self, found: Plain) -> list[FieldError]:
        scale = self._scale
        return [*scale.spec_errors(found), *scale.status_errors(found)] if scale else []

    def _embedded_errors(self, found: Plain) -> list[FieldError]:
        version = self._version
        return embedded_errors(found, version.schema) if version.has_embedded else []

    def _new_list_errors(self, new: Plain, old: Plain) -> list[FieldError]:
        errors = self._list_errors(new)
        # Duplicates anywhere in the stored object excuse those of the new one.
        return errors if errors and not self._list_errors(old) else []

    def _list_errors(self, found: Plain) -> list[FieldError]:
        version = self._version
        return list_errors(found, version.schema) if version.has_unique_lists else []

    def _rule_errors(
        self, errors: list[FieldError], new: Plain, old: Plain | None = None, *, max_cost: int | None
    ) -> list[FieldError]:
        """Evaluate the rules, unless the object has the wrong shape.

        Raises:
            _CostlyRules: If they cost more than `max_cost`.
        """
        if self._rules is None:
            return []
        # The errors of the metadata count, too; they are found first.
        if any(error.reason in _BLOCKING for error in (*errors_so_far(), *errors)):
            return [invalid("<nil>", None, _NOT_CHECKED)]
        after, before = {**self._head, **new}, None if old is None else {**self._head, **old}
        if max_cost is None:
            return self._rules.errors(after, before)
        found = self._rules.errors_within(after, before, cost=max_cost)
        if found is None:
            raise _CostlyRules
        return found

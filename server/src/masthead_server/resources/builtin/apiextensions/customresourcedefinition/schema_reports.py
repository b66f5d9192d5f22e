"""Reports on the schemas of definitions: all errors of a schema in isolation, found once.

To validate a schema takes long compared with a request, up to seconds for the largest ones. The report on a schema is
cached, so that a thread can make it before the definition is written, and it need not be made again when a definition
is written with the schema that it had.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._schema.errors import gather
from masthead._schema.structural import structural_errors
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.internal import (
    children,
    schemas_below,
    tree_of,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.schemas import (
    SchemaValidation,
    has_extensions,
    unknown_format,
    unsupported_problem,
)

if TYPE_CHECKING:
    from masthead._schema.errors import FieldError
    from masthead._schema.schema import Schema
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["MAX_SCHEMA_DEPTH", "RatchetingRules", "SchemaReport", "report_on"]

MAX_SCHEMA_DEPTH: Final = 128
"""Levels of a schema. kube-apiserver has no limit but that of JSON, ten thousand."""
_MAX_CACHED: Final = 256
"""Cached reports. A report on a schema without errors is small."""


@dataclass(frozen=True, slots=True)
class RatchetingRules:
    """What a schema may have although a new one may not.

    Attributes:
        allow_non_structural: It need not be structural.
        allow_unknown_types: It may have types that do not exist.
        allow_any_set: The items of sets need not be atomic.
        allow_any_keys: Keys of lists may be missing or null.
        of_defaults: Defaults may have unknown fields.
        of_costs: A single rule may cost more than the limit.
    """

    allow_non_structural: bool = False
    allow_unknown_types: bool = False
    allow_any_set: bool = False
    allow_any_keys: bool = False
    of_defaults: bool = False
    of_costs: bool = False


STRICT: Final = RatchetingRules()


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """The errors of a schema.

    Attributes:
        is_too_deep: Whether schemas stand within each other too often; nothing else is known then.
        tree: Errors of its structure, or of its defaults if there are none.
        openapi: Errors of what it uses of OpenAPI.
        rules: Errors of the expressions in its rules.
        unsupported: Why it cannot be read as a structural schema; empty if it can.
        has_defaults: Whether there is a default.
        has_extensions: Whether it uses Kubernetes' extensions of OpenAPI.
        formats: The formats in it that mean nothing.
    """

    is_too_deep: bool = False
    tree: tuple[FieldError, ...] = ()
    openapi: tuple[FieldError, ...] = ()
    rules: tuple[FieldError, ...] = ()
    unsupported: str = ""
    has_defaults: bool = False
    has_extensions: bool = False
    formats: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.is_too_deep or self.tree or self.openapi or self.rules or self.unsupported)


_kept: Final[OrderedDict[tuple[bytes, str], SchemaReport]] = OrderedDict()


def report_on(schema: Plain, path: str) -> SchemaReport:
    """Return the report on a schema, without any ratcheting. It may be called from any thread.

    Args:
        schema: The schema of an object.
        path: Its path in the definition.
    """
    # A digest instead of the schema: a large one would stay in memory as a key. The path is part of every error.
    key = (hashlib.sha256(msgspec.json.encode(schema)).digest(), path)
    found = _kept.get(key)
    if found is None:
        found = _kept[key] = make_report(schema, path, STRICT)
        # Oldest first, without a lock: a race costs a second report at most.
        if len(_kept) > _MAX_CACHED:
            _kept.popitem(last=False)
    return found


def make_report(schema: Plain, path: str, ratcheting: RatchetingRules) -> SchemaReport:
    """Validate a schema.

    Args:
        schema: The schema of an object.
        path: Its path in the definition.
        ratcheting: What it may have although a new one may not.
    """
    # First, because everything below recurses, and a hostile schema could exhaust the stack.
    if _is_too_deep(schema):
        return SchemaReport(is_too_deep=True)
    unsupported = "" if ratcheting.allow_non_structural else unsupported_problem(schema)
    tree = None if unsupported or ratcheting.allow_non_structural else tree_of(schema)
    below = list(schemas_below(schema))
    has_defaults = any(item.get("default") is not None for item in below)
    tree_errors: Errors = []
    if tree is not None:
        tree_errors = gather(lambda: _tree_errors(tree, path, ratcheting, has_defaults=has_defaults))
    validation = SchemaValidation(
        allows_any_type=ratcheting.allow_unknown_types,
        allows_any_set=ratcheting.allow_any_set,
        allows_any_keys=ratcheting.allow_any_keys,
    )
    openapi = gather(lambda: validation.check_root(schema, path))
    rules: Errors = []
    # Rules are compiled against the types of a schema that is otherwise right.
    if tree is not None and not tree_errors and validation.sound:
        rules = gather(lambda: _rule_errors(tree, path, validation.sound, ratcheting))
    return SchemaReport(
        tree=tuple(tree_errors),
        openapi=tuple(openapi),
        rules=tuple(rules),
        unsupported=unsupported,
        has_defaults=has_defaults,
        has_extensions=any(map(has_extensions, below)),
        formats=tuple(dict.fromkeys(filter(None, map(unknown_format, below)))),
    )


def _tree_errors(schema: Schema, path: str, ratcheting: RatchetingRules, *, has_defaults: bool) -> Errors:
    errors = structural_errors(schema, path)
    # Defaults are compared with the structure, so that they wait until it has no errors.
    if errors or not has_defaults:
        return errors
    # Deferred: most schemas have no defaults, and the module loads the rule compiler.
    from masthead_server.resources.builtin.apiextensions.customresourcedefinition.default_values import (
        default_errors,
    )

    return default_errors(schema, path, may_have_unknown=ratcheting.of_defaults)


def _rule_errors(schema: Schema, path: str, sound: set[str], ratcheting: RatchetingRules) -> Errors:
    from masthead._schema.rule_definitions import expression_problems

    return expression_problems(schema, path, sound, limits_each=not ratcheting.of_costs)


def _is_too_deep(schema: Plain) -> bool:
    """Tell whether schemas stand within each other more than `MAX_SCHEMA_DEPTH` times."""
    level = [schema]
    for _ in range(MAX_SCHEMA_DEPTH):
        level = [below for item in level for below in children(item)]
        if not level:
            return False
    return True

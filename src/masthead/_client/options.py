"""The options of the verbs, as the query or body in which they travel.

What is wrong with an option is said here, before anything is sent.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

import msgspec

from masthead._meta import fields, labels
from masthead._meta.v1 import LabelSelector
from masthead.errors import InvalidValueError, SelectorError

if TYPE_CHECKING:
    from masthead._meta.fields import FieldSelector
    from masthead._meta.labels import Selector
    from masthead._meta.v1 import DeletionPropagation, ResourceVersionMatch

__all__ = [
    "FieldSelection",
    "FieldValidation",
    "LabelSelection",
    "Query",
    "counted",
    "delete_body",
    "delete_options",
    "label_selector_of",
    "list_query",
    "read_query",
    "write_query",
]

Query: TypeAlias = list[tuple[str, str]]
LabelSelection: TypeAlias = "str | Mapping[str, str] | Selector | LabelSelector"
"""Labels to select by: ``"app=web,tier in (a,b)"``, ``{"app": "web"}``, or an object of the API."""
FieldSelection: TypeAlias = "str | Mapping[str, str] | FieldSelector"
"""Fields to select by: ``"status.phase!=Running"`` or ``{"spec.nodeName": "node-1"}``."""
FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
"""What the server does about fields that it does not know."""

_MATCHES: Final = ("Exact", "NotOlderThan")
_VALIDATIONS: Final = ("Ignore", "Warn", "Strict")
_PROPAGATIONS: Final = ("Background", "Foreground", "Orphan")


def list_query(
    *,
    label_selector: LabelSelection | None = None,
    field_selector: FieldSelection | None = None,
    resource_version: str | None = None,
    resource_version_match: ResourceVersionMatch | None = None,
    limit: int | None = None,
    continue_: str | None = None,
    timeout_seconds: int | None = None,
    shard_selector: str | None = None,
) -> Query:
    """The query of a list, a watch or a deletion of many.

    Raises:
        SelectorError: if a selector is none.
        InvalidValueError: if another option is wrong.
    """
    query: Query = []
    if label_selector is not None:
        _add(query, "labelSelector", _label_text(label_selector))
    if field_selector is not None:
        _add(query, "fieldSelector", _field_text(field_selector))
    _add(query, "resourceVersion", resource_version)
    _add(query, "resourceVersionMatch", _one_of("resource_version_match", resource_version_match, _MATCHES))
    _add(query, "limit", counted("limit", limit))
    _add(query, "continue", continue_)
    _add(query, "timeoutSeconds", counted("timeout_seconds", timeout_seconds))
    _add(query, "shardSelector", shard_selector)
    return query


def read_query(*, resource_version: str | None) -> Query:
    """The query of a get."""
    return [("resourceVersion", resource_version)] if resource_version else []


def write_query(
    *,
    dry_run: bool,
    field_manager: str | None,
    field_validation: FieldValidation | None = None,
    force: bool | None = None,
) -> Query:
    """The query of a create, an update or a patch.

    Raises:
        InvalidValueError: if an option is wrong.
    """
    query: Query = []
    if dry_run:
        query.append(("dryRun", "All"))
    if field_manager:
        query.append(("fieldManager", field_manager))
    if field_validation is not None:
        _add(query, "fieldValidation", _one_of("field_validation", field_validation, _VALIDATIONS))
    if force is not None:
        query.append(("force", "true" if force else "false"))
    return query


def delete_options(
    *,
    grace_period_seconds: int | None,
    propagation_policy: DeletionPropagation | None,
    uid: str | None,
    resource_version: str | None,
    dry_run: bool,
    ignore_store_read_error: bool = False,
) -> dict[str, object]:
    """The options of a delete, as plain data; empty where there is nothing to say.

    Raises:
        InvalidValueError: if an option is wrong.
    """
    counted("grace_period_seconds", grace_period_seconds)
    _one_of("propagation_policy", propagation_policy, _PROPAGATIONS)
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    said: dict[str, object] = {
        "gracePeriodSeconds": grace_period_seconds,
        "propagationPolicy": propagation_policy,
        "preconditions": {key: value for key, value in preconditions.items() if value} or None,
        "dryRun": ["All"] if dry_run else None,
        "ignoreStoreReadErrorWithClusterBreakingPotential": ignore_store_read_error or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def delete_body(options: dict[str, object]) -> bytes | None:
    """The body of a delete; None where there is nothing to say."""
    if not options:
        return None
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})


def _add(query: Query, name: str, value: str | None) -> None:
    if value:
        query.append((name, value))


def _label_text(selection: LabelSelection) -> str:
    if isinstance(selection, str):
        _check_labels(selection)
        return selection
    return str(label_selector_of(selection))


def label_selector_of(selection: LabelSelection) -> Selector:
    """Labels to select by, in whatever form they were given.

    Raises:
        SelectorError: if they are none.
    """
    if isinstance(selection, str):
        return labels.parse(selection)
    if isinstance(selection, labels.Selector):
        return selection
    if isinstance(selection, LabelSelector):
        return labels.from_label_selector(selection)
    if not _is_text_mapping(selection):
        raise SelectorError(
            f"label_selector is of type {type(selection).__name__}; give text, or labels and values",
            value=selection,
        )
    return labels.from_mapping(selection)


def _field_text(selector: FieldSelection) -> str:
    if isinstance(selector, str):
        _check_fields(selector)
        return selector
    if isinstance(selector, fields.FieldSelector):
        return str(selector)
    if not _is_text_mapping(selector):
        raise SelectorError(
            f"field_selector is of type {type(selector).__name__}; give text, or fields and values",
            value=selector,
        )
    return ",".join(str(fields.one(key, value)) for key, value in selector.items())


def _is_text_mapping(selector: object) -> bool:
    if not isinstance(selector, Mapping):
        return False
    pairs = cast("Mapping[object, object]", selector).items()
    return all(isinstance(part, str) for pair in pairs for part in pair)


_LONGEST_KEPT: Final = 4096
"""Characters of the longest selector that is remembered to be right."""


def _check_labels(text: str) -> None:
    if len(text) <= _LONGEST_KEPT:
        _check_kept_labels(text)
    else:
        labels.parse(text)


def _check_fields(text: str) -> None:
    if len(text) <= _LONGEST_KEPT:
        _check_kept_fields(text)
    else:
        fields.parse(text)


@functools.lru_cache(maxsize=256)
def _check_kept_labels(text: str) -> None:
    labels.parse(text)


@functools.lru_cache(maxsize=256)
def _check_kept_fields(text: str) -> None:
    fields.parse(text)


def _one_of(option: str, value: str | None, known: tuple[str, ...]) -> str | None:
    if value is not None and value not in known:
        raise InvalidValueError(f"{option} is {value!r}; it is one of {', '.join(known)}", value=value)
    return value


def counted(option: str, value: int | None) -> str | None:
    """A number of an option, as text; None if it was not given.

    Raises:
        InvalidValueError: if it is no whole number from 0 up.
    """
    if value is None:
        return None
    if type(value) is not int or value < 0:  # True is an int too, and no number
        raise InvalidValueError(f"{option} is {value!r}; it is a whole number from 0 up", value=value)
    return str(value)

"""The options of the verbs, as query parameters or request body.

Options are validated here, before anything is sent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, cast

import msgspec

from masthead._meta import fields, labels
from masthead._meta.v1 import DeletionPropagation, LabelSelector, ResourceVersionMatch
from masthead._module import set_module
from masthead.errors import ArgumentError, DecodeError, SelectorError

if TYPE_CHECKING:
    from masthead._meta.fields import FieldSelector
    from masthead._meta.labels import Selector

__all__ = [
    "DeleteParameters",
    "DeletionArguments",
    "FieldSelection",
    "FieldValidation",
    "IterArguments",
    "LabelSelection",
    "ListArguments",
    "PatchArguments",
    "PatchParameters",
    "Query",
    "WriteArguments",
    "WriteParameters",
    "integer_text",
    "label_selector_of",
    "list_query",
    "read_query",
    "write_query",
]

Query: TypeAlias = list[tuple[str, str]]
LabelSelection: TypeAlias = "str | Mapping[str, str] | Selector | LabelSelector"
"""A label selector: ``"app=web,tier in (a,b)"``, ``{"app": "web"}``, or a selector object."""
FieldSelection: TypeAlias = "str | Mapping[str, str] | FieldSelector"
"""A field selector: ``"status.phase!=Running"`` or ``{"spec.nodeName": "node-1"}``."""
FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
"""How the server treats unknown fields."""


@set_module("masthead.clientset")
class WriteArguments(TypedDict, total=False):
    """The options of a create, an update or an apply of a kubectl-style configuration.

    Attributes:
        dry_run: Run validation and admission without storing anything.
        field_manager: The field manager to record; None for the client's default.
        field_validation: How the server treats unknown fields; None for the client's default.
        timeout: Timeout of each call in seconds, retries included; None for the client's default.
    """

    dry_run: bool
    field_manager: str | None
    field_validation: FieldValidation | None
    timeout: float | None


@set_module("masthead.clientset")
class PatchArguments(WriteArguments, total=False):
    """The options of a patch or a server-side apply: those of a write, and `force`.

    Attributes:
        dry_run: Run validation and admission without storing anything.
        field_manager: The field manager to record; None for the client's default. An apply needs one.
        field_validation: How the server treats unknown fields; None for the client's default.
        force: Take over fields that other managers own; for apply patches only.
        timeout: Timeout of each call in seconds, retries included; None for the client's default.
    """

    force: bool


@set_module("masthead.clientset")
class DeletionArguments(TypedDict, total=False):
    """The options of a delete.

    Attributes:
        grace_period_seconds: The grace period; 0 to delete immediately.
        propagation_policy: How dependents are treated: ``Background``, ``Foreground`` or ``Orphan``.
        uid: Delete only the object with this UID.
        resource_version: Delete only if the object is still at this resource version.
        dry_run: Run validation and admission without storing anything.
        ignore_store_read_error: Delete the object even if the server cannot decode it. This may break the cluster.
        ignore_not_found: Whether an object that does not exist is no error.
        timeout: Timeout of the whole call in seconds, retries included; None for the client's default.
    """

    grace_period_seconds: int | None
    propagation_policy: DeletionPropagation | None
    uid: str | None
    resource_version: str | None
    dry_run: bool
    ignore_store_read_error: bool
    ignore_not_found: bool
    timeout: float | None


@set_module("masthead.clientset")
class IterArguments(TypedDict, total=False):
    """The options of a list that is read page by page.

    Attributes:
        label_selector: Only objects with matching labels.
        field_selector: Only objects with matching fields.
        resource_version: How fresh the list must be.
        resource_version_match: How `resource_version` is compared.
        continue_: The token of the page to begin with.
        timeout_seconds: Timeout of the whole list in seconds, pages and retries included, also for the server; None
            for no limit.
        shard_selector: Only the objects of one shard, if the server supports shards.
        page_size: The limit of each page, 0 for all objects in one response; None for the client's default.
        on_error: Called with the error of each object that cannot be decoded, which is then left out; its bytes are
            the error's ``value``. Without it, the first such object raises.
        timeout: Timeout of each page in seconds; None for the client's default.
    """

    label_selector: LabelSelection | None
    field_selector: FieldSelection | None
    resource_version: str | None
    resource_version_match: ResourceVersionMatch | None
    continue_: str | None
    timeout_seconds: int | None
    shard_selector: str | None
    page_size: int | None
    on_error: Callable[[DecodeError], None] | None
    timeout: float | None


@set_module("masthead.clientset")
class ListArguments(IterArguments, total=False):
    """The options of a list: those of `IterArguments`, and a limit.

    Attributes:
        label_selector: Only objects with matching labels.
        field_selector: Only objects with matching fields.
        resource_version: How fresh the list must be.
        resource_version_match: How `resource_version` is compared.
        limit: Fetch one page of this length only; its ``metadata.continue_`` is the token of the next.
        continue_: Fetch only the page of this token.
        timeout_seconds: Timeout of the whole list in seconds, pages and retries included, also for the server; None
            for no limit.
        shard_selector: Only the objects of one shard, if the server supports shards.
        page_size: The limit of each page, 0 for all objects in one response; None for the client's default.
        on_error: Called with the error of each object that cannot be decoded, which is then left out; its bytes are
            the error's ``value``. Without it, the first such object raises.
        timeout: Timeout of each page in seconds; None for the client's default.
    """

    limit: int | None


# Structs, because every write makes one: 0.1 µs, where a frozen dataclass takes 0.5.
class WriteParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a write, as the verbs pass them on; see `WriteArguments`."""

    dry_run: bool = False
    field_manager: str | None = None
    field_validation: FieldValidation | None = None
    timeout: float | None = None


class PatchParameters(WriteParameters, frozen=True, kw_only=True):
    """The options of a patch, as the verbs pass them on; see `PatchArguments`."""

    force: bool | None = None


class DeleteParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a delete, as the verbs pass them on; see `DeletionArguments`."""

    grace_period_seconds: int | None = None
    propagation_policy: DeletionPropagation | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    ignore_store_read_error: bool = False
    ignore_not_found: bool = False
    timeout: float | None = None

    def to_plain(self) -> dict[str, object]:
        """Return the DeleteOptions, as plain data; empty if all options are left out.

        Raises:
            ArgumentError: If an option is invalid.
        """
        integer_text("grace_period_seconds", self.grace_period_seconds)
        _one_of("propagation_policy", self.propagation_policy, _PROPAGATIONS)
        preconditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        options: dict[str, object] = {
            "gracePeriodSeconds": self.grace_period_seconds,
            "propagationPolicy": self.propagation_policy,
            "preconditions": {key: value for key, value in preconditions.items() if value} or None,
            "dryRun": ["All"] if self.dry_run else None,
            "ignoreStoreReadErrorWithClusterBreakingPotential": self.ignore_store_read_error or None,
        }
        return {key: value for key, value in options.items() if value is not None}

    def to_body(self) -> bytes | None:
        """Return the body of the request; None if all options are left out.

        Raises:
            ArgumentError: If an option is invalid.
        """
        options = self.to_plain()
        return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options}) if options else None


# Not None, which is the default that callers ask for.
NO_DEFAULT: Final[Any] = msgspec.UNSET
"""The default of a parameter whose type is that of its argument: none was given."""
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
    """The query parameters of a list, a watch or a deletion of a collection.

    Raises:
        SelectorError: If a selector is invalid.
        ArgumentError: If another option is invalid.
    """
    query: Query = []
    if label_selector is not None:
        _add(query, "labelSelector", _label_text(label_selector))
    if field_selector is not None:
        _add(query, "fieldSelector", _field_text(field_selector))
    _add(query, "resourceVersion", resource_version)
    _add(query, "resourceVersionMatch", _one_of("resource_version_match", resource_version_match, _MATCHES))
    _add(query, "limit", integer_text("limit", limit))
    _add(query, "continue", continue_)
    _add(query, "timeoutSeconds", integer_text("timeout_seconds", timeout_seconds))
    _add(query, "shardSelector", shard_selector)
    return query


def read_query(resource_version: str) -> Query:
    """The query parameters of a get."""
    return [("resourceVersion", resource_version)]


def write_query(
    *,
    dry_run: bool,
    field_manager: str | None,
    field_validation: FieldValidation | None = None,
    force: bool | None = None,
) -> Query:
    """The query parameters of a create, an update or a patch.

    Raises:
        ArgumentError: If an option is invalid.
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


def _add(query: Query, name: str, value: str | None) -> None:
    if value:
        query.append((name, value))


def _label_text(selection: LabelSelection) -> str:
    if isinstance(selection, str):
        _check_labels(selection)
        return selection
    return str(label_selector_of(selection))


def label_selector_of(selection: LabelSelection) -> Selector:
    """Parse a label selector of any form.

    Raises:
        SelectorError: If the selector is invalid.
    """
    if isinstance(selection, str):
        return labels.parse(selection)
    if isinstance(selection, labels.Selector):
        return selection
    if isinstance(selection, LabelSelector):
        return labels.from_label_selector(selection)
    if not _is_text_mapping(selection):
        raise SelectorError(
            f"label_selector is of type {type(selection).__name__}; use a string, or a mapping of labels to values",
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
            f"field_selector is of type {type(selector).__name__}; use a string, or a mapping of fields to values",
            value=selector,
        )
    return ",".join(str(fields.one(key, value)) for key, value in selector.items())


def _is_text_mapping(selector: object) -> bool:
    if not isinstance(selector, Mapping):
        return False
    pairs = cast("Mapping[object, object]", selector).items()
    return all(isinstance(part, str) for pair in pairs for part in pair)


_MAX_CACHED: Final = 4096
"""The length of the longest selector whose validation is cached."""


def _check_labels(text: str) -> None:
    if len(text) <= _MAX_CACHED:
        _check_labels_cached(text)
    else:
        labels.parse(text)


def _check_fields(text: str) -> None:
    if len(text) <= _MAX_CACHED:
        _check_fields_cached(text)
    else:
        fields.parse(text)


@functools.lru_cache(maxsize=256)
def _check_labels_cached(text: str) -> None:
    labels.parse(text)


@functools.lru_cache(maxsize=256)
def _check_fields_cached(text: str) -> None:
    fields.parse(text)


def _one_of(option: str, value: str | None, known: tuple[str, ...]) -> str | None:
    if value is not None and value not in known:
        raise ArgumentError(f"{option} is {value!r}; it must be one of {', '.join(known)}", value=value)
    return value


def integer_text(option: str, value: int | None) -> str | None:
    """The text of an integer option; None if it is None.

    Raises:
        ArgumentError: If it is not an integer, or negative.
    """
    if value is None:
        return None
    if type(value) is not int or value < 0:  # bool is a subclass of int
        raise ArgumentError(f"{option} is {value!r}; it must be an integer, 0 or more", value=value)
    return str(value)

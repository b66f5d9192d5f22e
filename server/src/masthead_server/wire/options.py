"""The options of a request, read from its query as kube-apiserver reads them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta.quoting import quoted
from masthead._schema.errors import (
    MAX_FINDINGS,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from masthead_server.wire.failures import StatusFailure, bad_request, refused_fields
from masthead_server.wire.go_numbers import parse_int, parse_uint
from masthead_server.wire.plain import Plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.wire.request import ApiRequest

__all__ = [
    "CollectionOptions",
    "DeletionOptions",
    "FeatureGates",
    "WriteOptions",
    "manager_errors",
    "manager_of_user_agent",
    "read_flag",
    "read_integer",
    "read_version",
]

_META: Final = "meta.k8s.io"
_EXACT: Final = "Exact"
_NOT_OLDER: Final = "NotOlderThan"
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_FIELD_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")
_MANAGER_LENGTH: Final = 128
_PIECE: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureGates:
    """What of kube-apiserver can be switched on and off.

    Attributes:
        watch_list: Whether a watch may send initial events: ``WatchList``.
        sharded_list_and_watch: Whether lists and watches can be limited to a shard: ``ShardedListAndWatch``.
    """

    watch_list: bool = True
    sharded_list_and_watch: bool = False


@dataclass(frozen=True, slots=True)
class CollectionOptions:
    """The options of a list, a watch, or the deletion of a collection."""

    label_selector: str = ""
    field_selector: str = ""
    shard_selector: str = ""
    """The selector of a shard; always empty if the feature gate is off."""
    is_watch: bool = False
    wants_bookmarks: bool = False
    version: str = ""
    version_match: str = ""
    timeout: int | None = None
    limit: int = 0
    token: str = ""
    initial_events: bool | None = None

    @classmethod
    def of(cls, request: ApiRequest, gates: FeatureGates, *, is_watch: bool = False) -> CollectionOptions:
        """Read the query of a list or watch.

        Raises:
            StatusFailure: If a value is invalid, or if values exclude each other.
        """
        options = cls(
            label_selector=request.first("labelSelector"),
            field_selector=request.first("fieldSelector"),
            # A server without the gate ignores the parameter, as it ignores every unknown one.
            shard_selector=request.first("shardSelector") if gates.sharded_list_and_watch else "",
            is_watch=is_watch or read_flag(request, "watch") is True,
            wants_bookmarks=read_flag(request, "allowWatchBookmarks") is True,
            version=request.first("resourceVersion"),
            version_match=request.first("resourceVersionMatch"),
            timeout=read_integer(request, "timeoutSeconds"),
            limit=read_integer(request, "limit") or 0,
            token=request.first("continue"),
            initial_events=read_flag(request, "sendInitialEvents"),
        )
        errors = options._watch_errors(has_watch_list=gates.watch_list) if options.is_watch else options._list_errors()
        if errors:
            raise refused_fields(_META, "ListOptions", "", errors)
        return options

    def _list_errors(self) -> list[FieldError]:
        errors: list[FieldError] = []
        path, match = "resourceVersionMatch", self.version_match
        if match:
            if not self.version:
                errors.append(forbidden(path, f"{path} is forbidden unless resourceVersion is provided"))
            if self.token:
                errors.append(forbidden(path, f"{path} is forbidden when continue is provided"))
            if match not in {_EXACT, _NOT_OLDER}:
                errors.append(not_supported(path, match, (_EXACT, _NOT_OLDER, "")))
            if match == _EXACT and self.version == "0":
                errors.append(forbidden(path, f'{path} "exact" is forbidden for resourceVersion "0"'))
        if self.initial_events is not None:
            errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return errors

    def _watch_errors(self, *, has_watch_list: bool) -> list[FieldError]:
        errors: list[FieldError] = []
        path, match = "resourceVersionMatch", self.version_match
        if self.initial_events is not None and match != _NOT_OLDER:
            errors.append(forbidden(path, f"sendInitialEvents requires setting {path} to {_NOT_OLDER}"))
        if self.initial_events is not None and not has_watch_list:
            problem = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            errors.append(forbidden("sendInitialEvents", problem))
        if match:
            if self.initial_events is None:
                problem = f"{path} is forbidden for watch unless sendInitialEvents is provided"
                errors.append(forbidden(path, problem))
            if match != _NOT_OLDER:
                errors.append(not_supported(path, match, (_NOT_OLDER,)))
        # A watch with initial events has that match by default.
        begins_with_state = self.initial_events is None and self.version in {"", "0"}
        if self.token and (match or begins_with_state):
            errors.append(forbidden(path, f"{path} is forbidden when continue is provided"))
        return errors


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a create, update or patch."""

    is_dry_run: bool = False
    field_validation: str = "Warn"
    is_forced: bool = False
    """Whether apply takes fields from other managers."""
    warnings: list[str] = field(default_factory=list[str])
    """The warnings for the client, whatever the outcome of the request."""
    sent: Mapping[str, str] = field(default_factory=dict[str, str])
    """``fieldManager`` and ``fieldValidation``, as far as the query has them."""
    documents: list[Plain] = field(default_factory=list[Plain])
    """The object as the client sent it or as its patch made it, before the decoding: the last one of the list."""

    def to_plain(self, operation: str) -> Plain:
        """Return the options as admission gets them: CreateOptions or UpdateOptions, whatever the verb.

        Args:
            operation: ``CREATE`` or ``UPDATE``.
        """
        kind = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}[operation]
        dry_run: Plain = {"dryRun": ["All"]} if self.is_dry_run else {}
        return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **dry_run, **self.sent}

    @classmethod
    def of(cls, request: ApiRequest, kind: str, warnings: list[str], *, is_apply: bool = False) -> WriteOptions:
        """Read the query of a write.

        Args:
            request: The request.
            kind: ``CreateOptions``, ``UpdateOptions`` or ``PatchOptions``, which messages name.
            warnings: The list to add warnings to.
            is_apply: Whether it is a server-side apply.

        Raises:
            StatusFailure: If a value is invalid.
        """
        manager = request.first("fieldManager")
        validation = request.first("fieldValidation")
        dry_run = tuple(request.query.get("dryRun", ()))
        errors: list[FieldError] = []
        if is_apply and not manager:
            errors.append(required("fieldManager", "is required for apply patch"))
        elif not is_apply and kind == "PatchOptions" and "force" in request.query:
            errors.append(forbidden("force", "may not be specified for non-apply patch"))
        errors += manager_errors(manager, "fieldManager")
        errors += _dry_run_errors(dry_run)
        if validation not in {"", *_FIELD_VALIDATIONS}:
            errors.append(not_supported("fieldValidation", validation, ("", *_FIELD_VALIDATIONS)))
        if errors:
            raise refused_fields(_META, kind, "", errors)
        return cls(
            is_dry_run=bool(dry_run),
            field_validation=validation or "Warn",
            # Creates and updates ignore the parameter; for other patches it was refused above.
            is_forced=is_apply and read_flag(request, "force") is True,
            warnings=warnings,
            sent=_sent(manager, validation),
        )


def _sent(manager: str, validation: str) -> dict[str, str]:
    sent = {"fieldManager": manager} if manager else {}
    if validation:
        sent["fieldValidation"] = validation
    return sent


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """The options of a deletion."""

    is_dry_run: bool = False
    grace: int | None = None
    policy: str | None = None
    orphans: bool | None = None
    uid: str | None = None
    version: str | None = None

    def to_plain(self, _operation: str) -> Plain:
        """Return the options as admission gets them."""
        conditions = {
            name: value for name, value in (("uid", self.uid), ("resourceVersion", self.version)) if value is not None
        }
        fields: Plain = {
            "gracePeriodSeconds": self.grace,
            "preconditions": conditions or None,
            "orphanDependents": self.orphans,
            "propagationPolicy": self.policy,
            "dryRun": ["All"] if self.is_dry_run else None,
        }
        sent = {name: value for name, value in fields.items() if value is not None}
        return {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **sent}

    @classmethod
    def of(cls, request: ApiRequest, body: Plain | None) -> DeletionOptions:
        """Read the options from the body if there is one, and from the query otherwise.

        Raises:
            StatusFailure: If a value is invalid.
        """
        if body is None:
            options = cls._of_query(request)
            dry_run = tuple(request.query.get("dryRun", ()))
        else:
            options = cls._of_body(body)
            dry_run = tuple(str(value) for value in cast("list[object]", body.get("dryRun") or ()))
        errors = options.errors(dry_run)
        if errors:
            raise refused_fields(_META, "DeleteOptions", "", errors)
        return options

    @classmethod
    def _of_query(cls, request: ApiRequest) -> DeletionOptions:
        return cls(
            is_dry_run="dryRun" in request.query,
            grace=read_integer(request, "gracePeriodSeconds"),
            policy=_text(request, "propagationPolicy"),
            orphans=read_flag(request, "orphanDependents"),
            uid=_text(request, "uid"),
            version=_text(request, "resourceVersion"),
        )

    @classmethod
    def _of_body(cls, body: Plain) -> DeletionOptions:
        conditions: dict[str, Any] = body.get("preconditions") or {}
        return cls(
            is_dry_run=bool(body.get("dryRun")),
            grace=body.get("gracePeriodSeconds"),
            policy=body.get("propagationPolicy"),
            orphans=body.get("orphanDependents"),
            uid=conditions.get("uid"),
            version=conditions.get("resourceVersion"),
        )

    def errors(self, dry_run: tuple[str, ...]) -> list[FieldError]:
        """Return the errors of the options."""
        errors: list[FieldError] = []
        path = "propagationPolicy"
        if self.orphans is not None and self.policy is not None:
            problem = "orphanDependents and deletionPropagation cannot be both set"
            errors.append(invalid(path, self.policy, problem))
        if self.policy is not None and self.policy not in _POLICIES:
            errors.append(not_supported(path, self.policy, (*_POLICIES, "nil")))
        return errors + _dry_run_errors(dry_run)


def read_version(text: str, *, of_list: bool = False) -> int:
    """Parse a resourceVersion; an empty one is 0.

    Args:
        text: The value of the parameter.
        of_list: Whether it is a list's, for which kube-apiserver has another message.

    Raises:
        StatusFailure: If it is not a version.
    """
    if not text:
        return 0
    try:
        return parse_uint(text)
    except ValueError as flaw:
        given = quoted(text)
        problem = f"resourceVersion: Invalid value: {given}: strconv.ParseUint: parsing {given}: {flaw}"
    raise bad_request(f"invalid resource version: {problem}") if of_list else StatusFailure(500, "", problem)


def manager_of_user_agent(agent: str) -> str:
    """Return the field manager of a request that does not name one: the program of its user agent."""
    name = agent.partition("/")[0]
    if name.isascii() and name.isprintable() and len(name) <= _MANAGER_LENGTH:  # the usual case
        return name
    name = "".join(itertools.islice(filter(str.isprintable, name), _MANAGER_LENGTH))
    # Cut at the end of a character.
    return name.encode()[:_MANAGER_LENGTH].decode("utf-8", "ignore")


def manager_errors(manager: str, path: str) -> list[FieldError]:
    """Return the problems of a field manager's name.

    Args:
        manager: The name.
        path: The field that has it.
    """
    errors: list[FieldError] = []
    if len(manager.encode()) > _MANAGER_LENGTH:
        errors.append(too_long(path, _MANAGER_LENGTH))
    if manager.isprintable():
        return errors
    for index in itertools.islice(_unprintable(manager), MAX_FINDINGS - len(errors)):
        position = len(manager[:index].encode())
        problem = f"invalid character U+{ord(manager[index]):04X} (at position {position})"
        errors.append(invalid(path, manager, problem))
    return errors


def _unprintable(text: str) -> Iterator[int]:
    """The indexes of unprintable characters. It checks pieces of the text first, which is faster: most have none."""
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE]
        if not piece.isprintable():
            yield from (start + index for index, character in enumerate(piece) if not character.isprintable())


def _dry_run_errors(values: tuple[str, ...]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", list(values), ("All",))]


def read_integer(request: ApiRequest, name: str) -> int | None:
    """Read an integer of the query; None if it is missing.

    Raises:
        StatusFailure: If it is invalid.
    """
    values = request.query.get(name)
    if not values:
        return None
    try:
        return parse_int(values[0])
    except ValueError as flaw:
        raise bad_request(f'strconv.ParseInt: parsing "{values[0]}": {flaw}') from None


def _text(request: ApiRequest, name: str) -> str | None:
    values = request.query.get(name)
    return values[0] if values else None


def read_flag(request: ApiRequest, name: str) -> bool | None:
    """Read a bool of the query as Go converts it; None if it is missing."""
    values = request.query.get(name)
    return None if not values else values[0].lower() not in {"false", "0"}

"""Converts the arguments of ``record`` into an occurrence: checks, and references to objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Protocol, TypeAlias, cast

from masthead._meta import names
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.event_occurrences import EventReference, Occurrence, truncate
from masthead.errors import ArgumentError, TimeError

__all__ = ["EventSubject", "HasReference", "event_name", "occurrence_of", "reference_to"]

_TYPES: Final = ("Normal", "Warning")
_MAX_BYTES: Final = 128
"""The server's limit for reason, action and reporting instance."""
_REASON: Final = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)
_MAX_NAME: Final = 253
_METADATA_ONLY: Final = "PartialObjectMetadata"
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+|\.(?=[.-])|(?<=[.-])\.")


@set_module("masthead.record")
class HasReference(Protocol):
    """A reference to an object, such as ``masthead.api.core.v1.ObjectReference``."""

    @property
    def api_version(self) -> str | None:
        """Its apiVersion."""
        ...

    @property
    def kind(self) -> str | None:
        """Its kind."""
        ...

    @property
    def namespace(self) -> str | None:
        """Its namespace; empty or None for a cluster-scoped object."""
        ...

    @property
    def name(self) -> str | None:
        """Its name."""
        ...

    @property
    def uid(self) -> str | None:
        """Its uid."""
        ...


EventSubject: TypeAlias = "Object | HasReference | Mapping[str, object]"
"""The subject of an Event: an object, its plain data, or a reference to it."""


def occurrence_of(
    obj: EventSubject,
    type: str,
    reason: str,
    message: str,
    *,
    action: str,
    related: EventSubject | None,
    at: datetime,
) -> Occurrence:
    """Check the arguments of ``record``.

    Raises:
        ArgumentError: If one of them is invalid.
        TimeError: If the time has no time zone.
    """
    # The server accepts nothing else, and would refuse it long after `record` has returned.
    if type not in _TYPES:
        raise ArgumentError(f'the type of an Event is "Normal" or "Warning", not {type!r}', value=type)
    if not isinstance(cast("object", message), str):
        raise ArgumentError(
            f"the message of an Event must be a string, and this is of type {_type_name(message)}",
            value=message,
        )
    if not isinstance(cast("object", at), datetime) or at.utcoffset() is None:
        raise TimeError(f"the recorder's clock must return the time with its time zone, not {at!r}", value=at)
    reason = _check_reason(reason)
    return Occurrence(
        reference_to(obj),
        str.__str__(type),
        reason,
        truncate(_make_encodable(message)),
        _check_action(action) or reason,
        at,
        None if related is None else reference_to(related),
    )


def reference_to(obj: EventSubject) -> EventReference:
    """Build a reference to an object on the server.

    Raises:
        ArgumentError: If name, uid, kind or apiVersion are missing, or the argument is not an object.
    """
    if isinstance(obj, Object):
        meta = obj.metadata
        reference = EventReference(
            obj.api_version, obj.kind, meta.namespace, meta.name, meta.uid, meta.resource_version
        )
    elif isinstance(obj, Mapping):
        reference = _from_plain(obj)
    else:
        reference = _from_reference(obj)
    # Metadata of any kind are served as this kind.
    if reference.kind == _METADATA_ONLY:
        raise ArgumentError(
            f"an Event cannot be about the metadata of {reference.name or 'an object'} alone, which do not tell its "
            "kind; give a "
            "reference to the object, with its apiVersion, kind, namespace, name and uid",
            value=obj,
        )
    missing = [
        field
        for field, value in (
            ("name", reference.name),
            ("uid", reference.uid),
            ("kind", reference.kind),
            ("apiVersion", reference.api_version),
        )
        if not value
    ]
    if missing:
        subject = "/".join(part for part in (reference.namespace, reference.name) if part) or "(unnamed)"
        raise ArgumentError(
            f"an Event cannot be about {reference.kind or 'an object'} {subject}, which has no "
            f"{' and no '.join(missing)}; give "
            "the object as the server returned it, or a complete reference to it",
            value=obj,
        )
    return reference


def event_name(obj: str, nanos: int) -> str:
    """Build the name of an Event: the object's name and a time in nanoseconds, as in client-go.

    Names that are too long or invalid for Events are adapted.
    """
    suffix = f".{nanos:x}"
    name = f"{obj}{suffix}"
    if names.problem_with_dns1123_subdomain(name) is None:
        return name
    # differs from client-go: it uses a random UUID, which does not name the object.
    # RBAC objects and others may have names with colons or capitals.
    usable = _NOT_IN_NAMES.sub("-", obj.lower())[: _MAX_NAME - len(suffix)].strip(".-")
    name = f"{usable or 'event'}{suffix}"
    return name if names.problem_with_dns1123_subdomain(name) is None else f"event{suffix}"


def check_source(component: str, instance: str | None, host: str) -> tuple[str, str]:
    """Check the reporting controller and instance, and return both.

    Raises:
        ArgumentError: If one of them is invalid.
    """
    problem = names.problem_with_qualified_name(component)
    if problem:
        raise ArgumentError(
            f'{names.quote(component)} cannot report Events: the component {problem}; write "my-operator" or '
            '"example.com/my-operator"',
            value=component,
        )
    found = truncate(f"{component}-{host}" if host else component, _MAX_BYTES) if instance is None else instance
    if not found or len(found.encode()) > _MAX_BYTES:
        raise ArgumentError(
            f"the instance that reports Events has 1 to {_MAX_BYTES} bytes, not {len(found.encode())}; give the name "
            "of the pod",
            value=found,
        )
    return component, found


def _from_plain(obj: Mapping[str, object]) -> EventReference:
    """Read the plain data of an object or of a reference."""
    metadata = obj.get("metadata")
    # A reference has its name at the top, an object in its metadata.
    where = cast("Mapping[str, object]", metadata) if isinstance(metadata, Mapping) else obj
    return EventReference(
        _text(obj.get("apiVersion")),
        _text(obj.get("kind")),
        _text(where.get("namespace")),
        _text(where.get("name")),
        _text(where.get("uid")),
        _text(where.get("resourceVersion")),
        _text(obj.get("fieldPath")),
    )


def _from_reference(obj: HasReference) -> EventReference:
    try:
        return EventReference(
            _text(obj.api_version),
            _text(obj.kind),
            _text(obj.namespace),
            _text(obj.name),
            _text(obj.uid),
            _text(getattr(obj, "resource_version", "")),
            _text(getattr(obj, "field_path", "")),
        )
    except AttributeError:
        raise ArgumentError(
            f"an Event is about an object or a reference to one, and this is of type {_type_name(obj)}",
            value=obj,
        ) from None


def _text(value: object) -> str:
    return str.__str__(value) if isinstance(value, str) else ""


def _check_reason(reason: str) -> str:
    if not isinstance(cast("object", reason), str) or not _REASON.fullmatch(reason):
        raise ArgumentError(
            f'the reason of an Event is one word in CamelCase, such as "FailedCreate", not {reason!r}; details belong '
            "into "
            "the message",
            value=reason,
        )
    if len(reason) > _MAX_BYTES:
        raise ArgumentError(
            f"the reason of an Event has at most {_MAX_BYTES} characters, and this has {len(reason)}; details belong "
            "into the "
            "message",
            value=reason,
        )
    return str.__str__(reason)


def _check_action(action: str) -> str:
    if not isinstance(cast("object", action), str) or len(action.encode(errors="replace")) > _MAX_BYTES:
        raise ArgumentError(
            f"the action of an Event is text of at most {_MAX_BYTES} bytes, such as Scaling, not {str(action)[:60]!r}",
            value=action,
        )
    return _make_encodable(action)


def _make_encodable(text: str) -> str:
    """Convert to a plain string for JSON, without lone surrogates."""
    return str.__str__(text) if text.isascii() else text.encode(errors="replace").decode()


def _type_name(value: object) -> str:
    return type(value).__name__

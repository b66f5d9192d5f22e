"""The decisions of `update_with_retry` and `create_or_update`, without the calls.

Both façades make the calls; callers' functions run here, and so in the caller's own thread or task.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast

from masthead._meta.object import Object
from masthead._sansio.backoff import DEFAULT_RETRY
from masthead.errors import ApplyConflictError, ArgumentError, ConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.backoff import Attempts
    from masthead.errors import NotFoundError

__all__ = [
    "Mutate",
    "OperationResult",
    "apply_mutation",
    "deleted_conflict",
    "is_retried",
    "overlay",
    "prepare_create",
    "retry_schedule",
    "update_result",
]

T = TypeVar("T", bound=Object)

Mutate: TypeAlias = "Callable[[T], T | None]"
"""Changes an object in place, or returns another one to use instead."""
OperationResult: TypeAlias = Literal["created", "updated", "unchanged"]
"""The result of `create_or_update`."""

_NOT_OVERLAID: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_MERGED: Final = ("labels", "annotations")
_ADDED: Final = ("ownerReferences", "finalizers")


def retry_schedule(attempts: int | Attempts) -> Attempts:
    """The number of attempts and the delays in between.

    Raises:
        ArgumentError: If `attempts` allows no attempt.
    """
    wanted = replace(DEFAULT_RETRY, count=attempts) if isinstance(attempts, int) else attempts
    if wanted.count < 1:
        raise ArgumentError(f"attempts is {wanted.count}; it must be at least 1", value=wanted.count)
    return wanted


def is_retried(error: Exception, errors: tuple[type[Exception], ...]) -> bool:
    """Whether `retry_on` retries after an error of these classes.

    An apply that conflicts with other managers conflicts again, so `ApplyConflictError` is retried only if it is listed
    itself.
    """
    # differs from client-go: its RetryOnConflict retries such an apply as well.
    return not isinstance(error, ApplyConflictError) or ApplyConflictError in errors


def apply_mutation(found: T, mutate: Mutate[T]) -> T | None:
    """Mutate a copy of an object; None if that changes nothing.

    The object itself is not modified: it may belong to a cache.

    Raises:
        TypeError: If `mutate` returns something other than an object or None.
        ArgumentError: If `mutate` changes name or namespace.
    """
    # The object may come from a cache, which nobody may change.
    mine = found.copy()
    result = _call_mutate(mine, mutate)
    _refuse_another(found, result)
    # Changed in place: the object itself knows whether it was modified, without a comparison.
    if result is mine:
        return result if result.is_modified() else None
    if not result.metadata.resource_version:
        # Without a resource version, the update would overwrite concurrent changes.
        result.metadata.resource_version = found.metadata.resource_version
    return None if result == found else result


def prepare_create(obj: T, mutate: Mutate[T] | None) -> T:
    """The object to create, mutated.

    Raises:
        TypeError: If `mutate` returns something other than an object or None.
        ArgumentError: If `mutate` changes name or namespace.
    """
    mine = obj.copy()
    result = mine if mutate is None else _call_mutate(mine, mutate)
    _refuse_another(obj, result)
    # The API server refuses to create an object that has a resource version.
    result.metadata.resource_version = result.metadata.uid = ""
    return result


def overlay(found: T, obj: T) -> T | None:
    """The live object with the sections and metadata of the desired one; None if that changes nothing.

    A section of the desired object replaces the live one; labels, annotations, owners and finalizers are
    added. The status and the rest of the metadata stay.

    Raises:
        DecodeError: If one of the two cannot be decoded.
    """
    live, wanted = found.to_dict(), obj.to_dict()
    # Whole sections: a removed field of the desired state has to disappear.
    result = live | {name: value for name, value in wanted.items() if name not in _NOT_OVERLAID}
    metadata: dict[str, Any] = dict(live.get("metadata", {}))
    for name in _MERGED:
        if given := wanted.get("metadata", {}).get(name):
            metadata[name] = {**metadata.get(name, {}), **given}
    for name in _ADDED:
        if given := wanted.get("metadata", {}).get(name):
            metadata[name] = _add_missing(metadata.get(name, []), given)
    made = cast("type[T]", type(found).api_type).from_dict({**result, "metadata": metadata})
    return None if made == found else made


def _add_missing(there: list[Any], given: list[Any]) -> list[Any]:
    """Merge two lists of owners or finalizers: existing ones are replaced in place, new ones appended."""
    found = {_identity(item): item for item in there}
    return list((found | {_identity(item): item for item in given}).values())


def _identity(item: object) -> str:
    """The merge key: an owner's UID, or the finalizer itself."""
    return str(cast("dict[str, object]", item)["uid"]) if isinstance(item, dict) else str(item)


def update_result(found: Object, response: Object, *, dry_run: bool) -> OperationResult:
    """Whether an update changed the object: the server keeps the resource version of a no-op update."""
    # The server does not store an update without a change; a dry run never has a new version.
    same_version = found.metadata.resource_version == response.metadata.resource_version
    return "unchanged" if same_version and not dry_run else "updated"


def _call_mutate(mine: T, mutate: Mutate[T]) -> T:
    result = cast("object", mutate(mine))
    if result is None:
        return mine
    if not isinstance(result, Object):
        raise TypeError(
            f"mutate returned {type(result).__name__}; it must change the object it is called with and return None, "
            "or return the object to write"
        )
    return cast("T", result)


def _refuse_another(before: Object, after: Object) -> None:
    if (before.metadata.name, before.metadata.namespace) != (after.metadata.name, after.metadata.namespace):
        raise ArgumentError(
            f"mutate made {after.key} out of {before.key}; it may change everything but name and namespace",
            value=after.key,
        )


def deleted_conflict(found: Object, error: NotFoundError) -> ConflictError:
    """The error for an object that was deleted after it was read, which is retried like any conflict."""
    return ConflictError(
        f"{found.kind or 'the object'} {found.key} was deleted after it was read",
        verb=error.verb,
        resource=error.resource,
        namespace=error.namespace,
        name=error.name,
    )

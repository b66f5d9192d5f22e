"""What a changed object is to be: the decisions of `update_with_retry` and `create_or_update`, without the calls.

Both façades make the calls; the functions that callers bring run here, and so wherever the caller runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast

from masthead._meta.object import Object
from masthead._sansio.backoff import DEFAULT_RETRY
from masthead.errors import ConflictError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.backoff import Attempts
    from masthead.errors import NotFoundError

__all__ = [
    "Mutate",
    "OperationResult",
    "apply_mutation",
    "overlay",
    "update_result",
    "retry_schedule",
    "prepare_create",
    "deleted_conflict",
]

T = TypeVar("T", bound=Object)

Mutate: TypeAlias = "Callable[[T], T | None]"
"""Changes an object in place, or returns another in its stead."""
OperationResult: TypeAlias = Literal["created", "updated", "unchanged"]
"""What became of an object that was to be created or updated."""

_NOT_LAID_OVER: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_MERGED: Final = ("labels", "annotations")
_ADDED: Final = ("ownerReferences", "finalizers")


def retry_schedule(attempts: int | Attempts) -> Attempts:
    """How often to try, and how long to wait in between.

    Raises:
        InvalidValueError: if there is to be no attempt at all.
    """
    wanted = replace(DEFAULT_RETRY, count=attempts) if isinstance(attempts, int) else attempts
    if wanted.count < 1:
        raise InvalidValueError(f"attempts is {wanted.count}; one is the least", value=wanted.count)
    return wanted


def apply_mutation(found: T, mutate: Mutate[T]) -> T | None:
    """What an object becomes; None if it stays as it is.

    The object itself is not touched: it may belong to a cache.

    Raises:
        TypeError: if what `mutate` returns is no object.
        InvalidValueError: if `mutate` makes it another object.
    """
    mine = found.copy()
    result = _mutated(mine, mutate)
    _refuse_another(found, result)
    if result is mine:
        return result if result.is_modified() else None
    if not result.metadata.resource_version:
        # Without it, the update would undo whatever came in between.
        result.metadata.resource_version = found.metadata.resource_version
    return None if result == found else result


def prepare_create(obj: T, mutate: Mutate[T] | None) -> T:
    """An object as it is to be created.

    Raises:
        TypeError: if what `mutate` returns is no object.
        InvalidValueError: if `mutate` makes it another object.
    """
    mine = obj.copy()
    result = mine if mutate is None else _mutated(mine, mutate)
    _refuse_another(obj, result)
    result.metadata.resource_version = result.metadata.uid = ""
    return result


def overlay(found: T, obj: T) -> T | None:
    """A live object with the sections and metadata of another; None if that changes nothing.

    A section that the other has replaces the live one; labels, annotations, owners and finalizers are added. Everything
    else, the status and the rest of the metadata, stays.

    Raises:
        DecodeError: if one of the two cannot be read.
    """
    live, wanted = found.to_dict(), obj.to_dict()
    result = live | {name: value for name, value in wanted.items() if name not in _NOT_LAID_OVER}
    metadata: dict[str, Any] = dict(live.get("metadata", {}))
    for name in _MERGED:
        if given := wanted.get("metadata", {}).get(name):
            metadata[name] = {**metadata.get(name, {}), **given}
    for name in _ADDED:
        if given := wanted.get("metadata", {}).get(name):
            metadata[name] = _added(metadata.get(name, []), given)
    made = cast("type[T]", type(found).api_type).from_dict({**result, "metadata": metadata})
    return None if made == found else made


def _added(there: list[Any], given: list[Any]) -> list[Any]:
    """What is there, each owner as it is given now, and what is new behind it."""
    found = {_identity(each): each for each in there}
    return list((found | {_identity(each): each for each in given}).values())


def _identity(item: object) -> str:
    """What tells an owner from others, its uid; and a finalizer, its name."""
    return str(cast("dict[str, object]", item)["uid"]) if isinstance(item, dict) else str(item)


def update_result(found: Object, answer: Object, *, dry_run: bool) -> OperationResult:
    """What an update has come to: servers keep the version where all stays as it was."""
    same_version = found.metadata.resource_version == answer.metadata.resource_version
    return "unchanged" if same_version and not dry_run else "updated"


def _mutated(mine: T, mutate: Mutate[T]) -> T:
    result = cast("object", mutate(mine))
    if result is None:
        return mine
    if not isinstance(result, Object):
        raise TypeError(
            f"mutate returned {type(result).__name__}; let it change the object that it is given and return nothing, "
            "or return the object to write"
        )
    return cast("T", result)


def _refuse_another(before: Object, after: Object) -> None:
    if (before.metadata.name, before.metadata.namespace) != (after.metadata.name, after.metadata.namespace):
        raise InvalidValueError(
            f"mutate made {after.key} out of {before.key}; it may change everything but name and namespace",
            value=after.key,
        )


def deleted_conflict(found: Object, error: NotFoundError) -> ConflictError:
    """An object that was deleted after it was read: one more way in which somebody else was faster."""
    return ConflictError(
        f"{found.kind or 'the object'} {found.key} was deleted after it was read",
        verb=error.verb,
        resource=error.resource,
        namespace=error.namespace,
        name=error.name,
    )

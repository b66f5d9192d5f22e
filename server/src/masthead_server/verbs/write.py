"""The write pipeline: from a decoded object to a stored one, step by step as kube-apiserver does it.

Every write takes the same steps, each a function of its own in `write_steps`:

==================  ====================================================================================
decode              read the body and drop unknown fields (`bodies.decode`), apply a patch (`patch`), or merge
                    a configuration (`apply`)
default, convert    set what the client left out; turn the client's version into the stored one
field managers      record in managedFields who has changed what (`masthead_server.field_managers`)
admit               the namespace must take new objects, and the kind's admission must agree
prepare             set or keep what the server decides: metadata, status, generation, the kind's strategy
validate            refuse an invalid object, with all its errors
store               write or remove the record, unless it is a dry run or changes nothing
==================  ====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from masthead_server.resources.codec import is_same_stored
from masthead_server.verbs import write_steps as steps
from masthead_server.verbs.write_steps import WriteContext
from masthead_server.wire.failures import StatusFailure, already_exists, conflict
from masthead_server.wire.limits import MOST_STORED, MOST_TRACKED
from masthead_server.wire.plain import Plain, has_finalizers, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["WriteContext", "Written", "create", "replace", "to_stored", "update"]

_NAME_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write.

    Attributes:
        value: The object as it is stored, or would be but for a dry run.
        is_new: Whether the write created it.
    """

    value: bytes
    is_new: bool = False


def to_stored(context: WriteContext, decoded: Plain) -> Plain:
    """Default and convert an object that a client sent, and make sure that it is the one that the path names.

    Raises:
        StatusFailure: If it is another.
    """
    served = context.served
    found = steps.convert(served, steps.set_defaults(context, decoded))
    steps.check_names(found, context.namespace, context.name, is_namespaced=served.is_namespaced)
    return found


def create(context: WriteContext, decoded: Plain) -> Written:
    """Store a new object.

    Args:
        context: Where and how.
        decoded: The object as the client sent it, without unknown fields; it is changed.

    Raises:
        StatusFailure: If it is refused.
    """
    return _create(context, to_stored(context, decoded))


def replace(context: WriteContext, decoded: Plain) -> Written:
    """Store the next state of an object, sent whole. A kind may allow that to create the object.

    Args:
        context: Where and how.
        decoded: The object as the client sent it, without unknown fields; it is changed.

    Raises:
        StatusFailure: If it is refused.
    """
    new = to_stored(context, decoded)
    served = context.served
    record = _record(context)
    if record is not None:
        return _update(context, record, lambda: new)
    if context.subresource or not served.strategy.create_on_update:
        raise served.missing(context.name)
    return _create_by_update(context, new)


def update(context: WriteContext, change: Callable[[Plain], Plain]) -> Written:
    """Store the next state of an object, made from the present one.

    Args:
        context: Where and how.
        change: Makes the new object from the present one, which it may change; both have the stored shape.

    Raises:
        StatusFailure: If there is no such object, or if the change is refused.
    """
    record = _record(context)
    if record is None:
        raise context.served.missing(context.name)
    return _update(context, record, lambda: change(context.served.load(record)))


def apply(context: WriteContext, change: Callable[[Plain | None], Plain]) -> Written:
    """Store the result of an apply, which may be a new object.

    Args:
        context: The object, and the options of the write.
        change: Makes the new object, with its managedFields, from the stored one, or from None if it does not exist.

    Raises:
        StatusFailure: If the change is refused, or if a subresource is applied to an object that does not exist.
    """
    record = _record(context)
    if record is not None:
        return _update(context, record, lambda: change(context.served.load(record)), is_apply=True)
    if context.subresource:
        raise context.served.missing(context.name)
    return _create_by_apply(context, change(None))


def _record(context: WriteContext) -> Record | None:
    """The stored object that a write names; None if it does not exist."""
    served = context.served
    key = served.place(context.namespace, context.name)
    return context.cluster.storage.table(served.table).get(key)


def _create(context: WriteContext, new: Plain) -> Written:
    steps.admit_namespace(context, new)
    steps.dedup_owners(context, new)
    steps.check_version_unset(context, new)
    steps.drop_system_fields(new)
    return _create_admitted(context, new)


def _create_admitted(context: WriteContext, new: Plain) -> Written:
    tries = 0 if metadata(new).get("name") else _NAME_TRIES
    try:
        steps.track_managers(context, new, None)
        steps.assign_metadata(context, new)
        steps.admit(context, new)
        steps.prepare_create(context, new)
        steps.validate_create(context, new)
        context.hooks.finish_create(new)
        context.options.warnings.extend(context.served.behavior.warnings.on_create(new))
        return _store_new(context, new, tries=tries)
    finally:
        context.cluster.allocator.undo()  # unless it was stored


def _create_by_update(context: WriteContext, new: Plain) -> Written:
    served, meta = context.served, metadata(new)
    if uid := text(meta, "uid"):
        problem = steps.uid_problem(served, meta, uid, context.cluster.new_uid())
        raise conflict(served.group, served.name, text(meta, "name"), problem)
    meta.pop("resourceVersion", None)
    return _create(context, new)


def _create_by_apply(context: WriteContext, new: Plain) -> Written:
    served, meta = context.served, metadata(new)
    if uid := text(meta, "uid"):
        problem = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(served.group, served.name, context.name, problem)
    steps.admit_namespace(context, new)
    steps.dedup_owners(context, new, is_patch=True)
    steps.check_version_number(text(meta, "resourceVersion"))
    meta.pop("resourceVersion", None)
    return _create_admitted(context, new)


def _update(context: WriteContext, record: Record, make: Callable[[], Plain], *, is_apply: bool = False) -> Written:
    """Store the next state of an object, which `make` returns; it is called when the stored object has been read."""
    served = context.served
    old = served.load(record)
    new = make()
    if is_apply and new == old and _is_stored(served, record, new) and not is_being_deleted(old):
        # A repeated apply usually changes nothing.
        steps.warn_of_update(context, new, old)
        return Written(record.value)
    if context.is_put:
        steps.dedup_owners(context, new)
        steps.check_uid(context, new, old)
    try:
        steps.check_version(context, new, old)
        steps.track_managers(context, new, old)
        if not context.is_put:
            steps.dedup_owners(context, new, is_patch=True)
        new = steps.keep_unwritable(context, new, old)
        steps.prepare_update(context, new, old)
        steps.raise_generation(context, new, old)
        steps.validate_update(context, new, old)
        steps.warn_of_update(context, new, old)
        steps.keep_times(new, old)
        return _store_change(context, record, new, old)
    finally:
        context.cluster.allocator.undo()  # unless it was stored


def _store_new(context: WriteContext, new: Plain, *, tries: int) -> Written:
    """Store a new object; where a generated name is taken, another is tried so many times."""
    cluster, served = context.cluster, context.served
    meta = metadata(new)
    table = cluster.storage.table(served.table)
    while (present := table.get(key := served.key(context.namespace, meta["name"]))) is not None:
        if not tries:
            raise _taken(served, meta, served.load(present))
        tries -= 1
        meta["name"] = cluster.new_name(meta["generateName"])
    if context.options.is_dry_run:
        return Written(served.dump(new), is_new=True)
    record = _write(context, key, new)
    # Only now, because what was allocated for a write that fails is given back.
    cluster.allocator.keep()
    return Written(record.value, is_new=True)


def _write(context: WriteContext, key: str, new: Plain) -> Record:
    """Store an object; one that is too large is stored without its managedFields, if that is enough."""
    cluster, served = context.cluster, context.served
    if "managedFields" in metadata(new):
        try:
            return cluster.write(served, key, new, most=MOST_TRACKED)
        except StatusFailure as failure:
            if failure.code != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise
        del metadata(new)["managedFields"]
    return cluster.write(served, key, new, most=MOST_STORED)


def _taken(served: ServedResource, meta: Plain, present: Plain) -> StatusFailure:
    refusal = already_exists(served.group, served.name, meta["name"])
    if is_being_deleted(present):
        refusal.message = f"object is being deleted: {refusal.message}"
    if meta.get("generateName"):
        refusal.message += ", the server was not able to generate a unique name for the object"
        refusal.details = {**(refusal.details or {}), "retryAfterSeconds": 1}
        refusal.retry_after = 1
    return refusal


def _store_change(context: WriteContext, record: Record, new: Plain, old: Plain) -> Written:
    cluster, served = context.cluster, context.served
    if _completes_deletion(served, new, old):
        value = served.dump(new)
        served.codec.require((value,))
        if not context.options.is_dry_run:
            stored = cluster.catalog.stored_in(served.table) or served
            cluster.remove(stored, record.key, stored.load(record))
        return Written(value)
    if new == old and _is_stored(served, record, new):
        return Written(record.value)
    if context.options.is_dry_run:
        return Written(served.dump(new))
    written = _write(context, record.key, new)
    cluster.allocator.keep()
    return Written(written.value)


def _is_stored(served: ServedResource, record: Record, new: Plain) -> bool:
    """Whether an object is stored just as it is.

    The schema of a custom resource can have changed since: what is stored lacks the defaults of the new one.
    """
    return not served.is_custom or is_same_stored(served.dump(new), record.value)


def _completes_deletion(served: ServedResource, new: Plain, old: Plain) -> bool:
    """Whether an object that is marked for deletion has lost the last thing that held it back."""
    if not is_being_deleted(old) or has_finalizers(new):
        return False
    if served.table == "namespaces" and part(new, "spec").get("finalizers"):
        return False
    return not part(old, "metadata").get("deletionGracePeriodSeconds")

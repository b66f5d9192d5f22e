"""The write pipeline: from a decoded object to a stored one, step by step as kube-apiserver does it.

Every write takes the same steps, each a function in `write_steps`:

==================  ====================================================================================
decode              read the body and drop unknown fields (`bodies.decode`), apply a patch (`patch`), or merge
                    a configuration (`apply`)
default, convert    set the defaults; convert the client's version to the stored one
field managers      record in managedFields who changes which fields (`masthead_server.field_managers`)
admit               mutating admission (`masthead_server.admission`) may change or refuse the object
prepare             set or keep the fields that the server decides: metadata, status, generation, the kind's strategy
validate            refuse an invalid object, with all its errors
admit again         validating admission may refuse what the steps before have made of the object
store               write or remove the record, unless it is a dry run or changes nothing
==================  ====================================================================================

Steps before ``store`` may await: a webhook, a thread that merges or validates a large object. Other
requests run during that time, and nothing is locked. ``store`` never awaits. It first checks that the stored record is
still the one at the start of the write. Otherwise the write starts again from the new record (`_retry`) and checks its
preconditions again: a write with a resourceVersion fails with a conflict, a write without one is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead_server.admission.attributes import Operation
from masthead_server.resources.codec import is_same_stored
from masthead_server.verbs import write_steps as steps
from masthead_server.wire.body_limits import MAX_STORED_BYTES, MAX_TRACKED_BYTES
from masthead_server.wire.failures import MODIFIED, StatusFailure, already_exists, conflict
from masthead_server.wire.plain import Plain, has_finalizers, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.verbs.write_context import WriteContext

__all__ = ["Written", "apply", "create", "replace", "to_stored", "update"]

_NAME_ATTEMPTS: Final = 8
_MAX_ATTEMPTS: Final = 16
"""Attempts of a write whose object other writes change while it waits."""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write.

    Attributes:
        value: The stored object; after a dry run, the object that would be stored.
        is_new: Whether the write created it.
    """

    value: bytes
    is_new: bool = False


class _Superseded(Exception):  # noqa: N818 - the write starts again
    """Another write has changed, created or removed the object while this one waited."""


def to_stored(context: WriteContext, decoded: Plain) -> Plain:
    """Default and convert an object that a client sent, and check that the path names it.

    Raises:
        StatusFailure: If the path names another.
    """
    served = context.served
    found = steps.convert(served, steps.set_defaults(context, decoded))
    steps.check_names(found, context.namespace, context.name, is_namespaced=served.is_namespaced)
    return found


async def create(context: WriteContext, decoded: Plain) -> Written:
    """Store a new object.

    Args:
        context: The place and the options of the write.
        decoded: The object as the client sent it, without unknown fields; it is changed.

    Raises:
        StatusFailure: If it is refused.
    """
    return await _create(context, to_stored(context, decoded))


async def replace(context: WriteContext, decode: Callable[[], Plain]) -> Written:
    """Store the next state of an object, sent whole. A kind may allow that to create the object.

    Args:
        context: The object, and the options of the write.
        decode: Returns the object as the client sent it, without unknown fields; called for every attempt.

    Raises:
        StatusFailure: If it is refused.
    """

    async def attempt() -> Written:
        new = to_stored(context, decode())
        record = _find_record(context)
        if record is not None:
            return await _update(context, record, await context.evaluate(context.served.load, record), new)
        if context.subresource or not context.served.strategy.create_on_update:
            raise context.served.missing(context.name)
        return await _create_by_update(context, new)

    return await _retry(context, attempt)


async def update(context: WriteContext, change: Callable[[Plain], Awaitable[Plain]]) -> Written:
    """Store the next state of an object, made from the present one.

    Args:
        context: The object, and the options of the write.
        change: Makes the new object from the present one, which it may change; both have the stored shape. Called for
            every attempt.

    Raises:
        StatusFailure: If there is no such object, or if the change is refused.
    """

    async def attempt() -> Written:
        record = _find_record(context)
        if record is None:
            raise context.served.missing(context.name)
        old = await context.evaluate(context.served.load, record)
        # Loaded twice, because the change modifies its argument.
        new = await change(await context.evaluate(context.served.load, record))
        return await _update(context, record, old, new)

    return await _retry(context, attempt)


async def apply(context: WriteContext, change: Callable[[Plain | None], Awaitable[Plain]]) -> Written:
    """Store the result of an apply, which may be a new object.

    Args:
        context: The object, and the options of the write.
        change: Makes the new object, with its managedFields, from the stored one, or from None if it does not exist.
            Called for every attempt.

    Raises:
        StatusFailure: If the change is refused, or if a subresource is applied to an object that does not exist.
    """
    served = context.served

    async def attempt() -> Written:
        record = _find_record(context)
        if record is None:
            if context.subresource:
                raise served.missing(context.name)
            return await _create_by_apply(context, await change(None))
        old = await context.evaluate(served.load, record)
        new = await change(await context.evaluate(served.load, record))
        # A repeated apply usually changes nothing; but mutating admission could change that.
        is_same = new == old and not is_being_deleted(old) and not context.mutates(Operation.UPDATE)
        if is_same and await context.evaluate(_is_stored, served, record, new):
            steps.warn_of_update(context, new, old)
            await steps.admit_valid(context, context.attributes(Operation.UPDATE, new, old), new)
            # Validating admission may have waited for a webhook.
            if _find_record(context) is not record:
                raise _Superseded
            return Written(record.value)
        return await _update(context, record, old, new)

    return await _retry(context, attempt)


async def _retry(context: WriteContext, attempt: Callable[[], Awaitable[Written]]) -> Written:
    """Repeat a write until no other one interferes, as kube-apiserver's storage does."""
    warnings = context.options.warnings
    count = len(warnings)
    # Bounded: a slow write would never end beside a client that updates the object all the time.
    for _ in range(_MAX_ATTEMPTS):
        try:
            return await attempt()
        except _Superseded:
            # The next attempt gives its warnings again.
            del warnings[count:]
    served = context.served
    raise conflict(served.group, served.name, context.name, MODIFIED)


def _find_record(context: WriteContext) -> Record | None:
    """Return the stored object that a write names; None if it does not exist."""
    served = context.served
    key = served.place(context.namespace, context.name)
    return context.cluster.storage.table(served.table).get(key)


async def _create(context: WriteContext, new: Plain, *, is_upsert: bool = False) -> Written:
    steps.dedup_owners(context, new)
    steps.drop_system_fields(new)
    return await _create_decoded(context, new, is_upsert=is_upsert)


async def _create_decoded(context: WriteContext, new: Plain, *, is_upsert: bool) -> Written:
    """Admit, complete, validate and store a new object.

    Args:
        context: The place and the options of the write.
        new: The object.
        is_upsert: Whether to start again as an update, if another write has created the object.
    """
    revision = context.cluster.storage.revision
    try:
        await steps.track_managers(context, new, None)
        # The first plugin of kube-apiserver's chain; it hides the refusals of all others.
        steps.check_namespace(context, new)
        attributes = context.attributes(Operation.CREATE, new, None)
        new = await steps.admit(context, attributes, new)
        if context.cluster.escalation is not None:
            steps.check_escalation(context, new, None)
        steps.admit_kind(context, new)
        name_attempts = 0 if metadata(new).get("name") else _NAME_ATTEMPTS
        steps.assign_metadata(context, new)
        steps.prepare_create(context, new)
        await steps.validate_create(context, new)
        context.options.warnings.extend(context.served.behavior.warnings.on_create(new))
        if is_upsert:
            steps.authorize_create(context)
        await steps.admit_valid(context, attributes, new)
        steps.check_version_unset(context, new)
        context.hooks.finish_create(new)
        store = partial(_store_new, context, new, revision, name_attempts=name_attempts, is_upsert=is_upsert)
        return await context.evaluate(store)
    finally:
        context.allocator.undo()  # unless it was stored


async def _create_by_update(context: WriteContext, new: Plain) -> Written:
    served, meta = context.served, metadata(new)
    if uid := text(meta, "uid"):
        problem = steps.uid_problem(served, meta, uid, context.cluster.new_uid())
        raise conflict(served.group, served.name, text(meta, "name"), problem)
    meta.pop("resourceVersion", None)
    return await _create(context, new, is_upsert=True)


async def _create_by_apply(context: WriteContext, new: Plain) -> Written:
    served, meta = context.served, metadata(new)
    if uid := text(meta, "uid"):
        problem = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(served.group, served.name, context.name, problem)
    steps.dedup_owners(context, new, is_patch=True)
    steps.check_version_number(text(meta, "resourceVersion"))
    meta.pop("resourceVersion", None)
    return await _create_decoded(context, new, is_upsert=True)


async def _update(context: WriteContext, record: Record, old: Plain, new: Plain) -> Written:
    """Store the next state of an object.

    Args:
        context: The object, and the options of the write.
        record: The stored object that `new` was made from.
        old: The same, decoded.
        new: The next state; it is changed.
    """
    # Only a PUT names its object by uid; a patch was made from the stored one.
    if context.is_put:
        steps.dedup_owners(context, new)
        steps.check_uid(context, new, old)
    try:
        # Before the fields are tracked, which is expensive and pointless for a conflict. But admission comes first:
        # a webhook that denies the update hides a conflict.
        attributes = context.attributes(Operation.UPDATE, new, old)
        if attributes is None:
            steps.check_escalation(context, new, old)
            steps.check_version(context, new, old)
        await steps.track_managers(context, new, old)
        if attributes is not None:
            new = await steps.admit(context, attributes, new)
            steps.check_escalation(context, new, old)
            steps.check_version(context, new, old)
        if not context.is_put:
            steps.dedup_owners(context, new, is_patch=True)
        # After the fields are tracked: a client owns a field even if the server restores its value.
        new = steps.keep_unwritable(context, new, old)
        steps.prepare_update(context, new, old)
        steps.raise_generation(context, new, old)
        await steps.validate_update(context, new, old)
        steps.warn_of_update(context, new, old)
        await steps.admit_valid(context, attributes, new)
        steps.keep_times(new, old)
        return await context.evaluate(_store_change, context, record, new, old)
    finally:
        context.allocator.undo()  # unless it was stored


def _store_new(context: WriteContext, new: Plain, revision: int, *, name_attempts: int, is_upsert: bool) -> Written:
    """Store a new object.

    Args:
        context: The place and the options of the write.
        new: The object.
        revision: The revision at which the object was admitted.
        name_attempts: How many further names to generate if the name is in use.
        is_upsert: Whether to start again if the name is in use.

    Raises:
        StatusFailure: If the name is in use, or if the object is not admitted any more.
        ConversionPending: If a webhook has to convert the object first; nothing is stored then.
    """
    cluster, served = context.cluster, context.served
    if cluster.storage.revision != revision:
        _check_still_admitted(context, new)
    meta = metadata(new)
    table = cluster.storage.table(served.table)
    while (present := table.get(key := served.key(context.namespace, meta["name"]))) is not None:
        if is_upsert:
            raise _Superseded
        if not name_attempts:
            raise _name_in_use(served, meta, present)
        name_attempts -= 1
        meta["name"] = cluster.new_name(meta["generateName"])
    if context.options.is_dry_run:
        return Written(served.dump(new), is_new=True)
    record = _write(context, key, new)
    # Only now: the allocations of a write that fails are returned.
    context.allocator.keep()
    return Written(record.value, is_new=True)


def _check_still_admitted(context: WriteContext, new: Plain) -> None:
    """Refuse a new object if its namespace or its definition is being deleted since it was admitted."""
    steps.check_namespace(context, new)
    served = context.served
    current = context.cluster.catalog.find(served.gvr)
    # The definition's own admission: an object that arrives after the clean-up would never be removed.
    if current is not None and current is not served:
        refusal = current.behavior.hooks.admit_create(new, context.allocator)
        if refusal is not None:
            raise refusal


def _write(context: WriteContext, key: str, new: Plain) -> Record:
    """Store an object, without its managedFields if it is too large with them."""
    cluster, served = context.cluster, context.served
    if "managedFields" in metadata(new):
        try:
            return cluster.write(served, key, new, max_bytes=MAX_TRACKED_BYTES)
        except StatusFailure as failure:
            if failure.code != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise
        del metadata(new)["managedFields"]
    return cluster.write(served, key, new, max_bytes=MAX_STORED_BYTES)


def _name_in_use(served: ServedResource, meta: Plain, present: Record) -> StatusFailure:
    refusal = already_exists(served.group, served.name, meta["name"])
    # In the stored version: its metadata needs no conversion.
    if is_being_deleted(cast("Plain", msgspec.json.decode(b"{" + present.value))):
        refusal.message = f"object is being deleted: {refusal.message}"
    if meta.get("generateName"):
        refusal.message += ", the server was not able to generate a unique name for the object"
        refusal.details = {**(refusal.details or {}), "retryAfterSeconds": 1}
        refusal.retry_after = 1
    return refusal


def _store_change(context: WriteContext, record: Record, new: Plain, old: Plain) -> Written:
    """Store the next state of an object, or remove it with its last finalizer.

    Raises:
        _Superseded: If the stored object has changed since the start of the write.
        ConversionPending: If a webhook has to convert the object first; nothing is stored then.
    """
    cluster, served = context.cluster, context.served
    if cluster.storage.table(served.table).get(record.key) is not record:
        raise _Superseded
    # The update of the last finalizer is the deletion.
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
    context.allocator.keep()
    return Written(written.value)


def _is_stored(served: ServedResource, record: Record, new: Plain) -> bool:
    """Tell whether the stored record equals an object.

    A custom resource can differ although it was just loaded: its record lacks the defaults of a newer schema.
    """
    return not served.is_custom or is_same_stored(served.dump(new), record.value)


def _completes_deletion(served: ServedResource, new: Plain, old: Plain) -> bool:
    """Whether an object that is marked for deletion has lost its last finalizer."""
    if not is_being_deleted(old) or has_finalizers(new):
        return False
    if served.table == "namespaces" and part(new, "spec").get("finalizers"):
        return False
    return not part(old, "metadata").get("deletionGracePeriodSeconds")

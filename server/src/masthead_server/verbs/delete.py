"""Delete: immediately, after a grace period, or with the removal of the last finalizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar

from masthead_server.admission.attributes import AdmissionAttributes, Operation
from masthead_server.clock import add_seconds, stamp
from masthead_server.wire.failures import MODIFIED, conflict
from masthead_server.wire.plain import Plain, metadata, part
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.custom.conversions import Conversions
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.options import DeletionOptions
    from masthead_server.wire.user_info import UserInfo

__all__ = ["FOREGROUND", "ORPHAN", "Deleted", "DeletionContext", "check_preconditions", "delete"]

T = TypeVar("T")
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_DONE: Final = frozenset({"Succeeded", "Failed"})
_MAX_ATTEMPTS: Final = 16
"""Attempts of a deletion whose object other writes change while admission waits."""


@dataclass(frozen=True, slots=True)
class DeletionContext:
    """What a deletion is about.

    Attributes:
        cluster: The cluster state.
        served: The resource, in the version that the client uses.
        namespace: The namespace; empty for a cluster-scoped object.
        name: The name.
        options: The options of the deletion.
        user: Who deletes.
        warnings: The warnings of the response.
        conversions: The conversions of the request; None if no webhook converts the objects.
        is_admitted: Whether admission has decided already, about the eviction that causes this deletion.
        is_of_collection: Whether it is part of the deletion of a collection, whose reviews have no name.
    """

    cluster: ClusterState
    served: ServedResource
    namespace: str
    name: str
    options: DeletionOptions
    user: UserInfo = ADMIN
    warnings: list[str] = field(default_factory=list[str])
    conversions: Conversions | None = None
    is_admitted: bool = False
    is_of_collection: bool = False

    async def evaluate(self, compute: Callable[..., T], *args: object) -> T:
        """Evaluate code that may need conversions, and has no effects before its last one."""
        return compute(*args) if self.conversions is None else await self.conversions.run(compute, *args)

    @property
    def has_admission(self) -> bool:
        """Whether a plugin may refuse the deletion."""
        return not self.is_admitted and self.cluster.admission.decides(Operation.DELETE, self.served, "")


@dataclass(frozen=True, slots=True)
class Deleted:
    """The outcome of a deletion.

    Attributes:
        found: The object to respond with, in the stored version.
        value: Its stored text.
        is_gone: Whether it is removed, rather than marked.
    """

    found: Plain
    value: bytes
    is_gone: bool


async def delete(context: DeletionContext) -> Deleted:
    """Delete an object, or mark it for deletion.

    Raises:
        StatusFailure: If it does not exist, a precondition is not met, or it may not be deleted.
    """
    if not context.has_admission:
        return await context.evaluate(_delete, context)
    for _ in range(_MAX_ATTEMPTS):
        record = await context.evaluate(_admissible, context)
        await _admit(context, await context.evaluate(context.served.load, record))
        # Admission has decided about this state of the object, and must see the next one if there is one.
        if context.cluster.find(context.served, context.namespace, context.name) is record:
            return await context.evaluate(_delete, context)
    raise conflict(context.served.group, context.served.name, context.name, MODIFIED)


def _admissible(context: DeletionContext) -> Record:
    """Return the stored object of a deletion that only admission may still refuse."""
    record = context.cluster.find(context.served, context.namespace, context.name)
    check_preconditions(context.served, metadata(context.served.load(record)), context.options)
    return record


async def _admit(context: DeletionContext, old: Plain) -> None:
    served, options = context.served, context.options
    attributes = AdmissionAttributes(
        Operation.DELETE,
        served,
        served.gvk,
        context.name if served.table == "namespaces" else context.namespace,
        "" if context.is_of_collection else context.name,
        context.user,
        old=old,
        sent_options=options,
        is_dry_run=options.is_dry_run,
        warnings=context.warnings,
    )
    admission = context.cluster.admission
    for _ in range(_count_writes(served, old, options)):
        await admission.admit(attributes)
        await admission.validate(attributes)


def _count_writes(served: ServedResource, found: Plain, options: DeletionOptions) -> int:
    """Count the writes of a deletion: kube-apiserver has admission decide about each of them."""
    if not served.strategy.graceful:
        return 1
    meta = {**metadata(found)}
    if meta.get("deletionTimestamp"):
        grace = _shorten(meta, options)
        # Another DELETE that does not shorten the grace period changes nothing.
        if grace is None:
            return 0
    else:
        grace = _grace(found, options)
    # A pod without a grace period is marked, and then removed.
    return 1 if grace or _finalizers(served, meta, options) else 2


def _delete(context: DeletionContext) -> Deleted:
    """Delete an object, whatever admission says.

    Raises:
        StatusFailure: If it does not exist, a precondition is not met, or it may not be deleted.
        ConversionPending: If a webhook has to convert it first; nothing has changed then.
    """
    cluster, served, options = context.cluster, context.served, context.options
    record = cluster.find(served, context.namespace, context.name)
    if not served.is_custom:
        # A deletion is about metadata alone, and so the object is not converted.
        served = cluster.catalog.stored_in(served.table) or served
    found = served.load(record)
    check_preconditions(served, metadata(found), options)
    if served.table == "namespaces":
        return _delete_namespace(cluster, served, record, found, options)
    if served.behavior.begin_deletion is not None and not metadata(found).get("deletionTimestamp"):
        return _begin_deletion(cluster, served, record, found, options)
    return _delete_object(cluster, served, record, found, options)


def check_preconditions(served: ServedResource, meta: Plain, options: DeletionOptions) -> None:
    """Check the preconditions of a deletion.

    Raises:
        StatusFailure: If the object has another uid or version.
    """
    checks = (
        ("UID", options.uid, "uid", "deleted and then recreated"),
        ("ResourceVersion", options.version, "resourceVersion", "modified"),
    )
    for word, wanted, name, guess in checks:
        if wanted is not None and wanted != meta[name]:
            problem = (
                f"the {word} in the precondition ({wanted}) does not match the {word} in record ({meta[name]}). "
                f"The object might have been {guess}"
            )
            # Namespaces and definitions have handlers of their own, with a message of their own.
            if served.table == "namespaces" or served.behavior.begin_deletion is not None:
                problem = f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {meta[name]}"
                raise conflict(served.group, served.name, meta["name"], problem)
            raise conflict(served.group, served.kind, meta["name"], problem)


def _delete_object(
    cluster: ClusterState, served: ServedResource, record: Record, found: Plain, options: DeletionOptions
) -> Deleted:
    meta = metadata(found)
    grace = _grace(found, options) if served.strategy.graceful else None
    if served.strategy.graceful and meta.get("deletionTimestamp"):
        shortened = _shorten(meta, options)
        if shortened is None:
            # A second DELETE can only shorten the grace period; otherwise it changes nothing.
            return Deleted(found, served.dump(found), is_gone=False)
        grace = shortened if meta.get("deletionGracePeriodSeconds") is not None else None
    elif grace is not None:
        _mark(cluster, meta, grace)
    wanted = _finalizers(served, meta, options)
    changes_finalizers = set(wanted) != set(meta.get("finalizers") or ())
    if changes_finalizers:
        meta["finalizers"] = wanted
        if not wanted:
            del meta["finalizers"]
    # Neither a kubelet nor a controller has to act first.
    if grace is None and not wanted:
        return _remove(cluster, served, record, found, options)
    # Only finalizers hold the object, for which no grace period is waited.
    if grace is None and not meta.get("deletionTimestamp"):
        _mark(cluster, meta, 0)
    elif grace is None:
        meta.setdefault("deletionGracePeriodSeconds", 0)
    return _update_then_remove(cluster, served, record, found, options, is_complete=not wanted and not grace)


def _update_then_remove(
    cluster: ClusterState,
    served: ServedResource,
    record: Record,
    found: Plain,
    options: DeletionOptions,
    *,
    is_complete: bool,
) -> Deleted:
    """Store the mark of deletion; then, if nothing holds the object, remove it, as a second write."""
    if options.is_dry_run:
        return Deleted(found, served.dump(found), is_gone=is_complete)
    # An object that is marked already is not written again only for that.
    if found != served.load(record):
        record = cluster.write(served, record.key, found)
    if not is_complete:
        return Deleted(found, record.value, is_gone=False)
    return _remove(cluster, served, record, found, options)


def _remove(
    cluster: ClusterState, served: ServedResource, record: Record, found: Plain, options: DeletionOptions
) -> Deleted:
    value = served.dump(found) if options.is_dry_run else cluster.remove(served, record.key, found).value
    return Deleted(found, value, is_gone=True)


def _delete_namespace(
    cluster: ClusterState, served: ServedResource, record: Record, found: Plain, options: DeletionOptions
) -> Deleted:
    """Mark a namespace; the namespace controller deletes its contents, and then removes its finalizer."""
    meta = metadata(found)
    # The first DELETE never removes a namespace, even an empty one: its controller has to see it terminate.
    if not meta.get("deletionTimestamp"):
        _mark(cluster, meta, None)
        found.setdefault("status", {})["phase"] = "Terminating"
        wanted = _finalizers(served, meta, options)
        if wanted:
            meta["finalizers"] = wanted
        if not options.is_dry_run:
            cluster.write(served, record.key, found)
        return Deleted(found, served.dump(found), is_gone=False)
    # Only the subresource finalize removes spec.finalizers; until then another DELETE does nothing.
    if part(found, "spec").get("finalizers"):
        return Deleted(found, served.dump(found), is_gone=False)
    return _delete_object(cluster, served, record, found, options)


def _begin_deletion(
    cluster: ClusterState, served: ServedResource, record: Record, found: Plain, options: DeletionOptions
) -> Deleted:
    """Mark an object whose controller has to clean up first; the propagation policy does not matter yet."""
    now = cluster.now()
    metadata(found)["deletionTimestamp"] = now
    if served.behavior.begin_deletion is not None:
        served.behavior.begin_deletion(found, now)
    if not options.is_dry_run:
        cluster.write(served, record.key, found)
    return Deleted(found, served.dump(found), is_gone=False)


def _grace(found: Plain, options: DeletionOptions) -> int:
    """The grace period of a pod, in seconds."""
    spec, status = part(found, "spec"), part(found, "status")
    seconds = options.grace
    if seconds is None:
        seconds = spec.get("terminationGracePeriodSeconds", 0)
    # There is no kubelet to end a pod that no node runs, or that has ended.
    if not spec.get("nodeName") or status.get("phase") in _DONE:
        return 0
    return seconds if seconds >= 0 else 1


def _shorten(meta: Plain, options: DeletionOptions) -> int | None:
    """Shorten the grace period of a pod that is being deleted; returns the new one, or None if it stays."""
    current = meta.get("deletionGracePeriodSeconds")
    if current is None:
        return 0
    if options.grace is None or options.grace >= current:
        return None
    # The new period counts from the first DELETE, not from this one.
    began = add_seconds(datetime.fromisoformat(meta["deletionTimestamp"]), -current)
    meta["deletionTimestamp"] = stamp(add_seconds(began, options.grace))
    meta["deletionGracePeriodSeconds"] = options.grace
    return options.grace


def _mark(cluster: ClusterState, meta: Plain, grace: int | None) -> None:
    meta["deletionTimestamp"] = stamp(add_seconds(cluster.clock.now(), grace or 0))
    if grace is not None:
        meta["deletionGracePeriodSeconds"] = grace
    # The deletion mark is a change of the desired state.
    if meta.get("generation"):
        meta["generation"] += 1


def _finalizers(served: ServedResource, meta: Plain, options: DeletionOptions) -> list[str]:
    """The finalizers of an object that is being deleted, with those of its propagation policy."""
    present: list[str] = list(meta.get("finalizers") or ())
    if served.strategy.dependents == "ignore":
        return present
    kept = [finalizer for finalizer in present if finalizer not in {ORPHAN, FOREGROUND}]
    # The request overrides the finalizers of the object, and these override the default.
    if options.orphans is not None:
        return [*kept, ORPHAN] if options.orphans else kept
    if options.policy:
        return [*kept, *{"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(options.policy, [])]
    chosen = next((policy for policy in present if policy in {ORPHAN, FOREGROUND}), None)
    if chosen is not None:
        return [*kept, chosen]
    return [*kept, ORPHAN] if served.strategy.dependents == "orphan" else kept

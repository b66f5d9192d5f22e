"""Create and update: from an object that was read to one that is stored, step by step as kube-apiserver does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._server.resources import warnings as kind_warnings
from masthead._server.resources.metadata import create_errors, keep_system_fields, update_errors
from masthead._server.resources.rules import rules_of
from masthead._server.verbs.parts import ONLY
from masthead._server.wire.failures import (
    MODIFIED,
    StatusFailure,
    already_exists,
    bad_request,
    conflict,
    gather,
    invalid,
    refused_fields,
)
from masthead._server.wire.limits import MOST_STORED
from masthead._server.wire.plain import Plain, has_finalizers, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.cluster import ClusterState
    from masthead._server.resources.resource import ServedResource
    from masthead._server.storage import Record
    from masthead._server.wire.options import WriteOptions

__all__ = ["Written", "create", "update"]

_NAME_TRIES: Final = 8
_RAISING: Final = frozenset({"ephemeralcontainers", "resize"})
"""Parts whose changes raise the generation as those of the object itself do."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write came to: the answer's body, and whether there is a new object."""

    body: bytes
    is_new: bool = False


def create(
    cluster: ClusterState, served: ServedResource, namespace: str, found: Plain, options: WriteOptions
) -> Written:
    """Store a new object.

    Args:
        cluster: Where.
        served: The resource that the client spoke to.
        namespace: The path's.
        found: The object in its stored shape, clean and with its defaults; it is changed.
        options: The query's.

    Raises:
        StatusFailure: It may not be.
    """
    meta = metadata(found)
    if served.is_namespaced:
        cluster.check_namespace(served, namespace, text(meta, "name"))
    options.warnings.extend(kind_warnings.dedup_owner_references(found))
    tries = 0 if meta.get("name") else _NAME_TRIES
    try:
        if not options.is_dry_run:  # only the real server's storage minds
            _check_version_unset(meta)
        _begin(cluster, served, namespace, found)
        _check_new(cluster, served, found)
        options.warnings.extend(kind_warnings.on_create(served.group, served.name, found))
        return _store_new(cluster, served, namespace, found, options, tries=tries)
    finally:
        cluster.allocator.undo()


def _check_version_unset(meta: Plain) -> None:
    version = text(meta, "resourceVersion")
    if version.isascii() and version.isdigit() and version.strip("0"):
        raise StatusFailure(500, "", "resourceVersion should not be set on objects to be created")


def _begin(cluster: ClusterState, served: ServedResource, namespace: str, found: Plain) -> None:
    """Give a new object what the server alone decides."""
    meta, strategy = metadata(found), served.strategy
    if served.is_namespaced:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"):
        meta.pop(name, None)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = cluster.new_name(meta["generateName"])
    meta["uid"] = cluster.new_uid()
    meta["creationTimestamp"] = cluster.now()
    if strategy.first_generation is not None:
        meta["generation"] = strategy.first_generation
    if not meta.get("generation"):
        meta.pop("generation", None)
    if strategy.drops_status and "status" in found:
        found["status"] = served.stored_schema.blank("status")


def _check_new(cluster: ClusterState, served: ServedResource, found: Plain) -> None:
    meta, rules = metadata(found), served.rules
    if refusal := rules.admit_create(found, cluster.allocator):
        raise refusal
    rules.prepare_create(found, cluster.allocator)
    errors = gather(
        lambda: [
            *create_errors(found, served.strategy, namespaced=served.is_namespaced),
            *rules.validate_create(found),
        ]
    )
    if errors:
        raise refused_fields(served.stored_group, served.kind, text(meta, "name"), errors)
    rules.finish_create(found)


def _store_new(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    found: Plain,
    options: WriteOptions,
    *,
    tries: int,
) -> Written:
    """Store a new object; one whose name was generated gets another as often as `tries` says if it is taken."""
    meta = metadata(found)
    table = cluster.storage.table(served.table)
    while (present := table.get(key := served.key(namespace, meta["name"]))) is not None:
        if not tries:
            raise _taken(served, meta, served.load(present))
        tries -= 1
        meta["name"] = cluster.new_name(meta["generateName"])
    if options.is_dry_run:
        return Written(served.encode(found), is_new=True)
    record = cluster.write(served, key, found, most=MOST_STORED)
    cluster.allocator.keep()
    return Written(served.write(record.value), is_new=True)


def _taken(served: ServedResource, meta: Plain, present: Plain) -> StatusFailure:
    refusal = already_exists(served.group, served.name, meta["name"])
    if is_being_deleted(present):
        refusal.message = f"object is being deleted: {refusal.message}"
    if meta.get("generateName"):
        refusal.message += ", the server was not able to generate a unique name for the object"
        refusal.details = {**(refusal.details or {}), "retryAfterSeconds": 1}
        refusal.retry_after = 1
    return refusal


def update(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    name: str,
    change: Callable[[Plain | None], Plain],
    options: WriteOptions,
    *,
    subresource: str = "",
    is_put: bool = False,
) -> Written:
    """Store the next state of an object.

    Args:
        cluster: Where.
        served: The resource that the client spoke to.
        namespace: The path's.
        name: The path's.
        change: Makes the wanted object, in its stored shape, from the present one, which it may change.
        options: The query's.
        subresource: Which part of the object may change; empty for the main part.
        is_put: Whether the object was sent whole: then one that is not there is made, if its kind allows it, and
            its uid is a condition.

    Raises:
        StatusFailure: It may not be.
    """
    key = served.place(namespace, name)
    record = cluster.storage.table(served.table).get(key)
    if record is None:
        if not (is_put and served.strategy.create_on_update and not subresource):
            raise served.missing(name)
        return _create_by_update(cluster, served, namespace, change(None), options)
    old = served.load(record)
    new = change(served.load(record))
    options.warnings.extend(kind_warnings.dedup_owner_references(new, is_patch=not is_put))
    if is_put:
        _check_uid(served, metadata(new), metadata(old))
    try:
        settled = _settle(cluster, served, new, old, subresource)
        subject = f"{served.name}/{subresource}" if subresource else served.name
        options.warnings.extend(kind_warnings.on_update(served.group, subject, settled, old))
        return _store_change(cluster, served, record, settled, old, options)
    finally:
        cluster.allocator.undo()


def _create_by_update(
    cluster: ClusterState, served: ServedResource, namespace: str, found: Plain, options: WriteOptions
) -> Written:
    meta = metadata(found)
    if uid := text(meta, "uid"):
        problem = _uid_problem(served, meta, uid, cluster.new_uid())
        raise conflict(served.group, served.name, text(meta, "name"), problem)
    meta.pop("resourceVersion", None)
    return create(cluster, served, namespace, found, options)


def _settle(cluster: ClusterState, served: ServedResource, new: Plain, old: Plain, subresource: str) -> Plain:
    """Turn what a client wants into what it may have, or refuse it."""
    meta, stored = metadata(new), metadata(old)
    _check_version(served, meta, stored)
    meta.pop("managedFields", None)
    meta.pop("selfLink", None)
    keep_system_fields(new, old)
    meta["resourceVersion"] = stored["resourceVersion"]
    _keep("generation", meta, stored)
    rules = rules_of(served.group, f"{served.name}/{subresource}") if subresource else served.rules
    if subresource:
        new = _only_status(served, new, old) if subresource == "status" else ONLY[subresource](new, old)
        rules.prepare_status(new, old, cluster.allocator)
    else:
        _settle_main(cluster, served, new, old)
    if served.strategy.watches and (not subresource or subresource in _RAISING):
        metadata(new)["generation"] = served.strategy.next_generation(new, old)
        if not metadata(new)["generation"]:  # Go leaves out what is 0
            del metadata(new)["generation"]
    validate = rules.validate_status if subresource else rules.validate_update
    errors = gather(
        lambda: [
            *update_errors(new, old, served.strategy, of_status=bool(subresource)),
            *validate(new, old),
        ]
    )
    if errors:
        raise refused_fields(served.stored_group, served.kind, text(stored, "name"), errors)
    return new


def _settle_main(cluster: ClusterState, served: ServedResource, new: Plain, old: Plain) -> None:
    if served.strategy.has_status:
        _keep("status", new, old)
    served.rules.reallocate(new, old, cluster.allocator)
    served.rules.prepare_update(new, old)


def _only_status(served: ServedResource, new: Plain, old: Plain) -> Plain:
    settled = {**old, "metadata": metadata(new)}
    _keep("status", settled, new)
    for field in served.strategy.status_keeps:
        _keep(field, settled["metadata"], metadata(old))
    return settled


def _check_version(served: ServedResource, meta: Plain, stored: Plain) -> None:
    name = text(stored, "name")
    version = text(meta, "resourceVersion")
    if not version or version == "0":
        if not served.strategy.unconditional_update:
            problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise refused_fields(served.group, served.name, name, [problem])
    elif not (version.isascii() and version.isdigit()):
        raise StatusFailure(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    elif version != stored["resourceVersion"]:
        raise conflict(served.group, served.name, name, MODIFIED)


def _check_uid(served: ServedResource, meta: Plain, stored: Plain) -> None:
    uid = text(meta, "uid")
    if uid and uid != stored["uid"]:
        problem = _uid_problem(served, stored, uid, stored["uid"])
        raise conflict(served.group, served.name, stored["name"], problem)


def _uid_problem(served: ServedResource, meta: Plain, wanted: str, actual: str) -> str:
    """What the real server lets its storage say."""
    place = served.key(text(meta, "namespace"), text(meta, "name"))
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{served.name}/{place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    )


def _store_change(
    cluster: ClusterState,
    served: ServedResource,
    record: Record,
    new: Plain,
    old: Plain,
    options: WriteOptions,
) -> Written:
    if goes_now(served, new, old):
        if not options.is_dry_run:
            cluster.remove(served, record.key, old)
        return Written(served.encode(new))
    if new == old:
        return Written(served.write(record.value))
    if options.is_dry_run:
        return Written(served.encode(new))
    written = cluster.write(served, record.key, new, most=MOST_STORED)
    cluster.allocator.keep()
    return Written(served.write(written.value))


def goes_now(served: ServedResource, new: Plain, old: Plain) -> bool:
    """Tell whether an object that is being deleted lost the last thing that held it back."""
    if not is_being_deleted(old) or has_finalizers(new):
        return False
    if served.table == "namespaces" and part(new, "spec").get("finalizers"):
        return False
    return not part(old, "metadata").get("deletionGracePeriodSeconds")


def check_names(found: Plain, namespace: str, name: str, *, is_namespaced: bool) -> None:
    """Make sure that an object is the one that the path names; a namespace that it leaves out is filled in.

    Raises:
        StatusFailure: It is another.
    """
    meta = metadata(found)
    if is_namespaced:
        if meta.get("namespace") and meta["namespace"] != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace
    if not name:
        return
    if not meta.get("name"):
        raise nameless(name)
    if meta["name"] != name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )


def nameless(name: str) -> StatusFailure:
    """The object that a client sent does not say its name, or not what it is."""
    return bad_request(
        f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
    )


def _keep(field: str, new: Plain, old: Plain) -> None:
    """Give a field the value that it has in the other object, also if that is none."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)

"""The steps of the write pipeline; `write` documents their order and purpose."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import gather, invalid
from masthead.errors import DecodeError
from masthead_server.authorization.requests import check_authorization
from masthead_server.authorization.role_index import RBAC_GROUP
from masthead_server.resources.behavior import SlowValidation
from masthead_server.resources.validation.go_text import write_as_go
from masthead_server.resources.validation.metadata import create_errors, keep_system_fields, update_errors
from masthead_server.resources.warnings.owner_references import dedup_owner_references
from masthead_server.threads import compute_in_thread
from masthead_server.verbs.write_access import WriteAccess, authorization_attributes
from masthead_server.wire.failures import MODIFIED, StatusFailure, bad_request, conflict, refused_fields
from masthead_server.wire.plain import Plain, metadata, part, text, without_managed_fields
from masthead_server.wire.user_info import CONTROLLER_USER

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.field_managers.field_manager import FieldManager
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.resource import ServedResource
    from masthead_server.verbs.write_context import WriteContext

__all__ = [
    "admit",
    "admit_kind",
    "admit_valid",
    "assign_metadata",
    "authorize_create",
    "check_escalation",
    "check_namespace",
    "check_names",
    "check_uid",
    "check_version",
    "check_version_number",
    "check_version_unset",
    "convert",
    "dedup_owners",
    "drop_system_fields",
    "keep_times",
    "keep_unwritable",
    "nameless",
    "prepare_create",
    "prepare_update",
    "raise_generation",
    "set_defaults",
    "track_managers",
    "uid_problem",
    "validate_create",
    "validate_update",
    "warn_of_update",
]

_SPOILT_MANAGERS: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests:"
)


def authorize_create(context: WriteContext) -> None:
    """Refuse to create an object by an update, if the user may update only.

    Raises:
        StatusFailure: If the user may not create it.
    """
    check_authorization(context.cluster.authorizer, authorization_attributes(context, "create"))


def check_escalation(context: WriteContext, new: Plain, old: Plain | None) -> None:
    """Refuse a role or binding that grants more than the user may do.

    Raises:
        StatusFailure: If it does.
    """
    guard = context.cluster.escalation
    # The server's own controllers fill in aggregated roles, whatever roles there are.
    if guard is not None and context.served.group == RBAC_GROUP and context.user is not CONTROLLER_USER:
        guard.check(authorization_attributes(context, "create" if old is None else "update"), new, old)


def set_defaults(context: WriteContext, found: Plain) -> Plain:
    """Default: set the fields that a client left out."""
    served = context.served
    served.apply_defaults(found)
    # Only a few kinds, such as events, have times that default to now.
    if served.behavior.default_times is not None:
        served.behavior.default_times(found, context.cluster.now())
    return found


def convert(served: ServedResource, found: Plain) -> Plain:
    """Convert: from the client's version to the shape in which the kind is stored."""
    return served.to_storage(found)


def drop_system_fields(new: Plain) -> None:
    """Drop metadata that a client cannot set on a new object."""
    meta = metadata(new)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "uid", "creationTimestamp"):
        meta.pop(name, None)


async def track_managers(context: WriteContext, new: Plain, live: Plain | None) -> None:
    """Field managers: record who changes which fields, before the server itself changes any."""
    metadata(new).pop("selfLink", None)
    if context.manager is not None:
        # The import loads the schemas of the built-in kinds, which a server that is only read does not need.
        from masthead_server.field_managers.field_manager import field_manager_of

        manager, now = field_manager_of(context.served, context.subresource), context.cluster.now()
        if context.is_large or context.conversions is not None:
            track = functools.partial(_compute_entries, manager, live, new, context.manager, now)
            entries = await context.evaluate_merge(track)
            _set_or_drop(metadata(new), "managedFields", entries or None)
        else:
            manager.update(live, new, context.manager, now)
    _drop_empty_lists(context.served, new)


def _compute_entries(manager: FieldManager, live: Plain | None, new: Plain, name: str, now: str) -> list[Plain]:
    """Return the managedFields after a write, in any thread, without changing the object."""
    copy = {**new, "metadata": {**metadata(new)}}
    manager.update(live, copy, name, now)
    return metadata(copy).get("managedFields") or []


def _drop_empty_lists(served: ServedResource, new: Plain) -> None:
    """Replace empty lists that are stored as null, after field managers have seen them."""
    # Hardly any object has one, and `null_lists` loads the schemas of the built-in kinds.
    for value in new.values():
        if value == [] or (isinstance(value, dict) and [] in value.values()):
            break
    else:
        return
    for owner, name in served.codec.null_lists:
        fields = part(new, owner) if owner else new
        if fields.get(name) == []:
            fields[name] = None


def keep_times(new: Plain, old: Plain) -> None:
    """Field managers: keep the times of entries if nothing else changes, so that the write is a no-op."""
    entries: list[Plain] = metadata(new).get("managedFields") or []
    before: list[Plain] = metadata(old).get("managedFields") or []
    if len(entries) != len(before) or entries == before:
        return
    # The object must be unchanged as well, or the entry of its writer needs the new time.
    if list(map(_timeless, entries)) == list(map(_timeless, before)) and without_managed_fields(
        new
    ) == without_managed_fields(old):
        metadata(new)["managedFields"] = before


def _timeless(entry: Plain) -> Plain:
    return {name: value for name, value in entry.items() if name != "time"}


def check_names(found: Plain, namespace: str, name: str, *, is_namespaced: bool) -> None:
    """Check the name and namespace of an object against the path.

    A missing namespace is set; a cluster-scoped object loses it.

    Raises:
        StatusFailure: If it is another.
    """
    meta = metadata(found)
    if is_namespaced:
        # The path is authoritative, because authorization has checked it.
        if meta.get("namespace") and meta["namespace"] != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    # The path of a create has no name.
    if not name:
        return
    if not meta.get("name"):
        raise nameless(name)
    if meta["name"] != name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")


def nameless(name: str) -> StatusFailure:
    """The object that a client sent does not say its name, or not what it is."""
    return bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


def check_namespace(context: WriteContext, found: Plain) -> None:
    """Admit: the namespace of a new object must accept it, if the plugin NamespaceLifecycle is enabled."""
    if context.served.is_namespaced and context.cluster.admission.checks_namespaces:
        meta = metadata(found)
        name = meta.get("name") or text(meta, "generateName") or "Unknown"
        context.cluster.check_namespace(context.served, context.namespace, name)


def dedup_owners(context: WriteContext, found: Plain, *, is_patch: bool = False) -> None:
    """Drop owner references that stand twice, with a warning."""
    context.options.warnings.extend(dedup_owner_references(found, is_patch=is_patch))


def check_version_unset(context: WriteContext, found: Plain) -> None:
    """Refuse a new object with a version; kube-apiserver's storage does, which a dry run does not reach."""
    version = text(metadata(found), "resourceVersion")
    if not context.options.is_dry_run and version.isascii() and version.isdigit() and version.strip("0"):
        raise StatusFailure(500, "", "resourceVersion should not be set on objects to be created")


def assign_metadata(context: WriteContext, found: Plain) -> None:
    """Give a new object the metadata that the server alone decides, and an empty status."""
    cluster, served = context.cluster, context.served
    meta, strategy = metadata(found), served.strategy
    if served.is_namespaced:
        meta["namespace"] = context.namespace
    else:
        meta.pop("namespace", None)
    # Here rather than when it is stored, because admission and validation see the name.
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = cluster.new_name(meta["generateName"])
    meta["uid"] = cluster.new_uid()
    meta["creationTimestamp"] = cluster.now()
    if strategy.first_generation is not None:
        meta["generation"] = strategy.first_generation
    if not meta.get("generation"):
        meta.pop("generation", None)
    # Only a write to the status subresource sets it, where there is one.
    if strategy.drops_status and "status" in found:
        _set_or_drop(found, "status", served.codec.blank_status())


async def admit(context: WriteContext, attributes: AdmissionAttributes | None, new: Plain) -> Plain:
    """Admit: mutating admission may change the object or refuse the write; returns the object to go on with.

    Args:
        context: The write.
        attributes: What admission decides about; None if no plugin does.
        new: The object.
    """
    if attributes is None:
        return new
    managers = metadata(new).get("managedFields")
    await context.cluster.admission.admit(attributes)
    if attributes.object is not None:
        new = attributes.object
    # Only webhooks and policies change what they like.
    if attributes.needs_second_round:
        _restore_managers(context, new, managers)
        # One may have moved the object to another namespace.
        check_names(new, context.namespace, "", is_namespaced=context.served.is_namespaced)
        # One may have added an owner that was there already.
        dedup_owners(context, new, is_patch=True)
    return new


def _restore_managers(context: WriteContext, new: Plain, before: object) -> None:
    """Undo what a plugin did to managedFields, if they are invalid now."""
    meta = metadata(new)
    entries = meta.get("managedFields")
    if entries is before:
        return
    from masthead_server.field_managers.entries import read_entries

    try:
        read_entries(entries or [])
    except DecodeError as error:
        _set_or_drop(meta, "managedFields", before)
        context.options.warnings.append(f"{_SPOILT_MANAGERS} {error.problem}")
    if not meta.get("managedFields"):
        meta.pop("managedFields", None)


async def admit_valid(context: WriteContext, attributes: AdmissionAttributes | None, new: Plain) -> None:
    """Admit again: validating admission may refuse a valid object."""
    if attributes is not None:
        attributes.object = new
        # A name that was to be generated is known by now.
        attributes.name = attributes.name or text(metadata(new), "name")
        await context.cluster.admission.validate(attributes)


def admit_kind(context: WriteContext, new: Plain) -> None:
    """Admit: the kind itself may refuse a new object."""
    if refusal := context.hooks.admit_create(new, context.allocator):
        raise refusal


def prepare_create(context: WriteContext, found: Plain) -> None:
    """Prepare: set what the server decides about a new object of this kind."""
    context.hooks.record_user(found, context.user)
    context.hooks.prepare_create(found, context.allocator)
    context.options.warnings.extend(context.allocator.warnings)
    # A write that starts again has them again.
    context.allocator.warnings.clear()


async def validate_create(context: WriteContext, found: Plain) -> None:
    """Validate a new object; all its errors make one refusal."""
    served = context.served
    check_access = context.hooks.check_access
    errors = [] if check_access is None else check_access(found, None, WriteAccess(context, "create"))
    errors += await _gather_errors(
        lambda: create_errors(found, served.strategy, namespaced=served.is_namespaced),
        lambda: context.hooks.validate_create(found),
    )
    if errors:
        raise _refuse_fields(context, found, text(metadata(found), "name"), errors)


def check_uid(context: WriteContext, new: Plain, old: Plain) -> None:
    """Take the uid of an object that was sent whole as a precondition."""
    served, stored = context.served, metadata(old)
    uid = text(metadata(new), "uid")
    # The client read an object that was deleted, and replaced by another of the same name.
    if uid and uid != stored["uid"]:
        problem = uid_problem(served, stored, uid, stored["uid"])
        raise conflict(served.group, served.name, stored["name"], problem)


def uid_problem(served: ServedResource, meta: Plain, expected: str, actual: str) -> str:
    """The message of kube-apiserver's storage about a precondition that is not met."""
    key = served.key(text(meta, "namespace"), text(meta, "name"))
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{served.registry_name}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {expected}, UID in object meta: {actual}"
    )


def check_version(context: WriteContext, new: Plain, old: Plain) -> None:
    """Take the version of an update as a precondition; kinds differ in whether it may be left out."""
    served, stored = context.served, metadata(old)
    name = text(stored, "name")
    version = text(metadata(new), "resourceVersion")
    # Version 0 means "any", as in reads.
    if not version or version == "0":
        if not served.strategy.unconditional_update:
            problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise refused_fields(served.group, served.name, name, [problem])
        return
    check_version_number(version)
    if version != stored["resourceVersion"]:
        raise conflict(served.group, served.name, name, MODIFIED)


def check_version_number(version: str) -> None:
    """Make sure that a version is a number, or empty."""
    if version and not (version.isascii() and version.isdigit()):
        raise StatusFailure(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')


def keep_unwritable(context: WriteContext, new: Plain, old: Plain) -> Plain:
    """Keep what a client cannot change: system metadata, and everything that is not written."""
    meta, stored = metadata(new), metadata(old)
    keep_system_fields(new, old)
    meta["resourceVersion"] = stored["resourceVersion"]
    _keep("generation", meta, stored)
    if context.subresource:
        # Without a merge function the subresource is the status.
        merge = context.served.subresource(context.subresource).merge
        return _only_status(context.served, new, old) if merge is None else merge(new, old)
    # A write to the object itself cannot change the status, whatever it contains.
    if context.served.strategy.has_status:
        _keep("status", new, old)
    return new


def _only_status(served: ServedResource, new: Plain, old: Plain) -> Plain:
    merged = {**old, "metadata": metadata(new)}
    _keep("status", merged, new)
    for field in served.strategy.status_keeps:
        _keep(field, merged["metadata"], metadata(old))
    return merged


def prepare_update(context: WriteContext, new: Plain, old: Plain) -> None:
    """Prepare: keep or set what the server decides about a change of this kind or subresource."""
    hooks, allocator = context.hooks, context.allocator
    if context.subresource:
        hooks.prepare_status(new, old, allocator)
    else:
        hooks.reallocate(new, old, allocator)
        hooks.prepare_update(new, old)


def raise_generation(context: WriteContext, new: Plain, old: Plain) -> None:
    """Count a change of what the kind's generation is about."""
    served, subresource = context.served, context.subresource
    strategy = served.strategy
    if strategy.watches and (not subresource or served.subresource(subresource).raises_generation):
        metadata(new)["generation"] = strategy.next_generation(new, old)
        if not metadata(new)["generation"]:  # Go omits 0
            del metadata(new)["generation"]


async def validate_update(context: WriteContext, new: Plain, old: Plain) -> None:
    """Validate a change; all its errors make one refusal."""
    served, hooks = context.served, context.hooks
    validate = hooks.validate_status if context.subresource else hooks.validate_update
    verb = "update" if context.is_put else "patch"
    errors = [] if hooks.check_access is None else hooks.check_access(new, old, WriteAccess(context, verb))
    errors += await _gather_errors(
        lambda: update_errors(new, old, served.strategy, of_status=bool(context.subresource)),
        lambda: validate(new, old),
    )
    if errors:
        raise _refuse_fields(context, new, text(metadata(new), "name"), errors)


def _refuse_fields(context: WriteContext, found: Plain, name: str, errors: Errors) -> StatusFailure:
    for document in context.options.documents:
        errors = write_as_go(errors, context.served.to_storage(document))
    return refused_fields(*_group_kind(context.served, found), name, errors)


async def _gather_errors(check_metadata: Callable[[], Errors], validate: Callable[[], Errors]) -> Errors:
    """Find the errors of the metadata, then those of the kind; in a thread if the kind's validation is slow."""
    try:
        return gather(lambda: [*check_metadata(), *validate()])
    except SlowValidation as slow:
        find = slow.find
    return await compute_in_thread(gather, lambda: [*check_metadata(), *find()])


def warn_of_update(context: WriteContext, new: Plain, old: Plain) -> None:
    """Add the warnings of a change to the response."""
    context.options.warnings.extend(context.served.warnings_for(context.subresource).on_update(new, old))


def _keep(field: str, new: Plain, old: Plain) -> None:
    """Give a field the value that it has in the other object, or remove it if it has none there."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _group_kind(served: ServedResource, found: Plain) -> tuple[str, str]:
    """Return the group and kind of an object; only an object of another kind has ``kind`` and ``apiVersion``."""
    group = served.stored_group
    if version := text(found, "apiVersion"):
        group = version.rpartition("/")[0]
    return group, text(found, "kind") or served.kind


def _set_or_drop(found: Plain, field: str, value: object) -> None:
    """Set a field, or remove it if the value is None."""
    if value is None:
        found.pop(field, None)
    else:
        found[field] = value

"""Server-side apply: merges a configuration into an object on behalf of a manager, or creates the object."""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from masthead._schema.errors import MAX_FINDINGS
from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead._schema.structured_merge.managers import ApplyConflicts
from masthead._schema.structured_merge.type_checking import errors_text, type_errors
from masthead.errors import ArgumentError
from masthead_server import scheme
from masthead_server.field_managers.conflicts import refused_conflicts
from masthead_server.field_managers.field_manager import field_manager_of
from masthead_server.resources.go_decoder import decoder_of
from masthead_server.resources.go_values import Mismatch
from masthead_server.resources.unstructured import restore
from masthead_server.verbs import bodies, write
from masthead_server.verbs.write_steps import check_names, convert, set_defaults
from masthead_server.wire.apply_configuration import read_configuration
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.patches import copy_json
from masthead_server.wire.plain import Plain, part, without_managed_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.field_managers.field_manager import FieldManager
    from masthead_server.resources.codec import Decoder
    from masthead_server.verbs.write import Written
    from masthead_server.verbs.write_context import WriteContext
    from masthead_server.wire.request import ApiRequest

__all__ = ["ApplyTarget", "apply_object", "merge_configuration"]

_NO_MANAGERS: Final = "failed to create manager for existing fields"
_HEAD: Final = frozenset({"apiVersion", "kind"})


@dataclass(frozen=True, slots=True)
class ApplyTarget:
    """What configurations are applied to: the objects of a resource, or their scales.

    Attributes:
        fields: The field manager.
        decoder: The decoder of the kind.
        finish: Defaults and converts a merged object to the stored version; called in any thread.
    """

    fields: FieldManager
    decoder: Decoder
    finish: Callable[[Plain], Plain]

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind, in the version of the request."""
        return self.decoder.gvk


async def apply_object(context: WriteContext, request: ApiRequest) -> Written:
    """Apply a configuration to an object or to a subresource that is written as the object itself.

    Args:
        context: The object, and the options of the write.
        request: The request with the configuration.

    Raises:
        StatusFailure: If the configuration or the merged object is refused, or if it conflicts with other managers.
    """
    served = context.served

    def finish(merged: Plain) -> Plain:
        return convert(served, set_defaults(context, merged))

    target = ApplyTarget(field_manager_of(served, context.subresource), served.codec, finish)

    async def change(old: Plain | None) -> Plain:
        found = await merge_configuration(context, request, target, old)
        check_names(found, context.namespace, context.name, is_namespaced=served.is_namespaced)
        return found

    # No manager: the merge has tracked the managers already.
    return await write.apply(replace(context, manager=None), change)


async def merge_configuration(
    context: WriteContext, request: ApiRequest, target: ApplyTarget, live: Plain | None
) -> Plain:
    """Merge the configuration of a request into an object.

    Args:
        context: The manager, and the options of the write.
        request: The request.
        target: What it is applied to.
        live: The stored object, in a copy that nothing else uses; None on create.

    Returns:
        The object to store, with its managedFields.

    Raises:
        StatusFailure: If the configuration is refused, or if it conflicts with other managers.
    """
    # The clock belongs to the event loop.
    merge = functools.partial(_merge, context, request, target, live, context.cluster.now())
    merged = await context.evaluate_merge(merge)
    _report_duplicates(context, request)
    return merged


def _merge(context: WriteContext, request: ApiRequest, target: ApplyTarget, live: Plain | None, now: str) -> Plain:
    """Merge a configuration, in any thread."""
    fields = target.fields
    config = _configuration(request, fields)
    # kube-apiserver converts a scale as if it were a version of the custom resource, which fails.
    is_other_kind = context.served.is_custom and target.gvk != context.served.gvk
    unknown = f"request to convert CR to an invalid group/version: {target.gvk.api_version}"
    is_tracked = bool(part(live or {}, "metadata").get("managedFields"))
    if is_other_kind and not is_tracked:
        problem = f"failed to convert live object (/; {_kind(target.gvk)}) to proper version: {unknown}"
        raise _failure(f"{_NO_MANAGERS}: {problem}")
    # The order of errors is kube-apiserver's: it checks an object without managers first, to track its fields.
    if is_tracked:
        _check_types(config, fields)
    _check_live(context, live, fields)
    if not is_tracked:
        _check_types(config, fields)
    try:
        applied = fields.apply(live, config, context.manager or "", now, force=context.options.is_forced)
    except ApplyConflicts as error:
        raise refused_conflicts(error.conflicts) from None
    except (ArgumentError, UnidentifiedItemError) as error:
        raise _failure(str(error)) from None
    if not applied.is_changed:
        return _with_managers(applied.found, applied.entries)
    if is_other_kind:
        raise _unconvertible(config, target.gvk, unknown)
    return _with_managers(target.finish(_decode_values(applied.found, config, target.decoder)), applied.entries)


def _with_managers(found: Plain, entries: list[Plain]) -> Plain:
    """Return a copy of an object with these managedFields."""
    bare = without_managed_fields(found)
    if not entries:
        return bare
    return {**bare, "metadata": {**part(bare, "metadata"), "managedFields": entries}}


def _configuration(request: ApiRequest, fields: FieldManager) -> Plain:
    """Decode a configuration, and check its kind."""
    gvk = fields.versions.gvk
    found = read_configuration(lambda: bodies.yaml_document(request))
    if (sent := _sent_kind(found)) != _kind(gvk):
        raise bad_request(f"invalid object type: {sent}")
    if _sends_managers(found):
        raise bad_request("metadata.managedFields must be nil")
    return found


def _check_types(config: Plain, fields: FieldManager) -> None:
    gvk = fields.versions.gvk
    if errors := type_errors(config, fields.versions.type_of(gvk.api_version)):
        raise _type_failure("patch", config, gvk, errors_text(errors[:MAX_FINDINGS]))


def _check_live(context: WriteContext, live: Plain | None, fields: FieldManager) -> None:
    """Make sure that a custom resource still has the types of its schema, which may have changed."""
    if live is None or not context.served.is_custom:
        return
    gvk = fields.versions.gvk
    try:
        fields.versions.from_storage(live)
    except ArgumentError as error:
        if part(live, "metadata").get("managedFields"):
            raise _type_failure("live", live, gvk, str(error)) from None
        problem = f"failed to convert new object ({_format_name(live)}; {_kind(gvk)}) to smd typed: {error}"
        raise _failure(f"{_NO_MANAGERS}: {problem}") from None


def _type_failure(which: str, found: Plain, gvk: GroupVersionKind, problem: str) -> StatusFailure:
    return _failure(f"failed to create typed {which} object ({_format_name(found)}; {_kind(gvk)}): {problem}")


def _decode_values(merged: Plain, config: Plain, decoder: Decoder) -> Plain:
    """Convert the values of a merged object to those of its kind, as kube-apiserver does."""
    gvk = decoder.gvk
    # The merged object shares values with the configuration, which may be needed again.
    copied = copy_json(merged)
    try:
        return _builtin(copied, decoder) if scheme.is_registered(gvk) else _custom(copied)
    except Mismatch as error:
        problem = f"unable to convert unstructured object to {_kind(gvk)}: {error}"
        raise _unconvertible(config, gvk, problem) from None


def _builtin(merged: Plain, decoder: Decoder) -> Plain:
    """Return a merged object with the values of its kind.

    Raises:
        Mismatch: If a value has the wrong type.
    """
    with suppress(Mismatch):
        return decoder.decode(merged)[0]
    # kube-apiserver converts here without its JSON decoder: it accepts more numbers, and has other messages.
    restored, _ = restore(merged, cast("ApiType", scheme.object_class(decoder.gvk)))
    return decoder.decode(restored)[0]


def _custom(merged: Plain) -> Plain:
    """Return a merged custom resource. Its types are checked already; validation handles its nulls."""
    from masthead_server.resources.custom.object_metadata import decode_metadata

    meta = {**part(merged, "metadata")}
    meta.pop("creationTimestamp", None)  # clients cannot set it, so it is not decoded
    found = {name: value for name, value in merged.items() if name not in _HEAD}
    return {**found, "metadata": decode_metadata(meta)[0]}


def _unconvertible(config: Plain, gvk: GroupVersionKind, problem: str) -> StatusFailure:
    return _failure(f"failed to convert new object ({_format_name(config)}; {_kind(gvk)}) to proper version: {problem}")


def _report_duplicates(context: WriteContext, request: ApiRequest) -> None:
    """Report duplicate keys, as strictly as the client's field validation.

    Raises:
        StatusFailure: If there are any, and the validation is strict.
    """
    options = context.options
    if options.field_validation == "Ignore":
        return
    problems = bodies.yaml_problems(bodies.yaml_document(request), options)
    if problems and options.field_validation == "Strict":
        raise bad_request(f"error strict decoding YAML: error converting YAML to JSON: {problems[0]}")
    options.warnings.extend(problems)


def _sends_managers(config: Plain) -> bool:
    """Tell whether a configuration sets managedFields; invalid ones are left to the type check."""
    meta: object = config.get("metadata")
    entries: object = cast("Plain", meta).get("managedFields") if isinstance(meta, dict) else None
    return isinstance(entries, list) and all(map(_is_entry, cast("list[object]", entries)))


def _is_entry(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    from masthead._meta.metadata import ManagedFieldsEntry

    cls = cast("ApiType", ManagedFieldsEntry)
    try:
        decoder_of(cls).clean(restore(cast("Plain", value), cls)[0])
    except Mismatch:
        return False
    return True


def _sent_kind(config: Plain) -> str:
    """The kind of a configuration in messages."""
    version, kind = _string(config, "apiVersion"), _string(config, "kind")
    if version.count("/") > 1:
        return _shown_kind("", "", "")
    group, _, name = version.rpartition("/")
    return _shown_kind(group, name, kind)


def _kind(gvk: GroupVersionKind) -> str:
    return _shown_kind(gvk.group, gvk.version, gvk.kind)


def _shown_kind(group: str, version: str, kind: str) -> str:
    return f"{group}/{version}, Kind={kind}"


def _format_name(config: Plain) -> str:
    """The namespace and name of a configuration in messages."""
    meta: object = config.get("metadata")
    names = cast("Plain", meta) if isinstance(meta, dict) else {}
    return f"{_string(names, 'namespace')}/{_string(names, 'name')}"


def _string(found: Plain, field: str) -> str:
    value: object = found.get(field)
    return value if isinstance(value, str) else ""


def _failure(message: str) -> StatusFailure:
    """Return an internal error, as kube-apiserver does, although the request is at fault."""
    return StatusFailure(500, "", message)

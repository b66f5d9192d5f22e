"""Validation of metadata, with kube-apiserver's messages in its order.

Labels and annotations are checked in the order in which they stand; kube-apiserver's order is random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._meta.quoting import quoted
from masthead._schema.errors import (
    FieldError,
    forbidden,
    invalid,
    required,
    too_long,
)
from masthead_server.resources import names
from masthead_server.resources.strategy import UPDATE, WHOLE
from masthead_server.resources.validation.checks import annotation_errors
from masthead_server.wire.options import manager_errors
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.strategy import Strategy

_MAX_SUBRESOURCE_LENGTH: Final = 256
_SHORT: Final = 32
"""Fewer characters than this are within all limits in any encoding."""
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
KNOWN_FINALIZERS: Final = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})
_IMMUTABLE: Final = ("name", "namespace", "uid")
_IMMUTABLE_OR_NULL: Final = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_REFERENCE_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def create_errors(obj: Plain, strategy: Strategy, *, namespaced: bool) -> list[FieldError]:
    """Validate the metadata of an object that is to be created.

    Args:
        obj: The object; a name that is to be generated already is.
        strategy: Its kind's strategy.
        namespaced: Whether its kind lives in namespaces.
    """
    found = _whole(obj, strategy, namespaced=namespaced)
    # The server looks for names that do not fit into a URL last, and only if nothing else is wrong.
    return found or list(_path_names(part(obj, "metadata")))


def keep_system_fields(new: Plain, old: Plain) -> None:
    """Keep what a client cannot change in an updated object, whatever was sent.

    The generation is the stored one, until the kind's strategy raises it.
    """
    meta, stored = metadata(new), part(old, "metadata")
    kept = ["generation", "creationTimestamp"]
    # What a client sends of these stays, so that validation can refuse another value.
    kept += [name for name in ("uid", "deletionGracePeriodSeconds") if meta.get(name) in {None, ""}]
    if stored.get("deletionTimestamp"):
        kept.append("deletionTimestamp")
    for field in kept:
        meta.pop(field, None)
        if stored.get(field) is not None:
            meta[field] = stored[field]


def update_errors(
    new: Plain, old: Plain, strategy: Strategy | None = None, *, of_status: bool = False
) -> list[FieldError]:
    """Validate the metadata of an object that is to be updated.

    The server checks some fields more than once, and lists the same error as often among the causes.

    Args:
        new: The next state of the object, after `keep_system_fields`.
        old: The stored object.
        strategy: Its kind's strategy; without it only the checks are made that are the same for all kinds.
        of_status: Whether this is a write to the status.
    """
    meta, stored = part(new, "metadata"), part(old, "metadata")
    namespaced = bool(text(stored, "namespace"))
    found = [*_path_names(meta), *_common(meta, namespaced=namespaced), *_changes(meta, stored)]
    if strategy is None:
        return found
    checks = (UPDATE,) if of_status else strategy.rechecks
    if not found:  # the rest was valid on create, so only the remaining checks are left
        names_again = _kind_names(new, meta, strategy) if WHOLE in checks else ()
        if not any((*names_again, *_finalizer_names(meta, strategy))):
            return []
    for check in checks:
        if check == WHOLE:
            found += _whole(new, strategy, namespaced=namespaced)
        else:
            found += [*_changes(meta, stored), *_finalizer_names(meta, strategy)]
    return found


def _whole(obj: Plain, strategy: Strategy, *, namespaced: bool) -> list[FieldError]:
    meta = part(obj, "metadata")
    return [
        *_kind_names(obj, meta, strategy),
        *_common(meta, namespaced=namespaced),
        *_finalizer_names(meta, strategy),
    ]


def _kind_names(obj: Plain, meta: Plain, strategy: Strategy) -> Iterator[FieldError]:
    prefix, name = text(meta, "generateName"), text(meta, "name")
    if prefix and strategy.checks_generate_name:
        for detail in strategy.name_errors(prefix, is_prefix=True, obj=obj):
            yield invalid("metadata.generateName", prefix, detail)
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    for detail in strategy.name_errors(name, is_prefix=False, obj=obj):
        yield invalid("metadata.name", name, detail)


def _path_names(meta: Plain) -> Iterator[FieldError]:
    prefix, name = text(meta, "generateName"), text(meta, "name")
    for detail in names.path_segment(prefix, is_prefix=True):
        yield invalid("metadata.generateName", prefix, detail)
    if not name:
        yield required("metadata.name", "name or generateName is required")
    for detail in names.path_segment(name):
        yield invalid("metadata.name", name, detail)


def _common(meta: Plain, *, namespaced: bool) -> Iterator[FieldError]:
    """Everything but the names, for all kinds alike."""
    yield from _namespace(text(meta, "namespace"), namespaced=namespaced)
    generation = meta.get("generation")
    if isinstance(generation, int) and generation < 0:
        yield invalid("metadata.generation", generation, "must be greater than or equal to 0")
    yield from _labels(meta)
    yield from annotation_errors("metadata.annotations", _strings(meta, "annotations"))
    yield from _owner_references(meta)
    yield from _finalizers(meta)
    yield from _managed_fields(meta)


def _changes(meta: Plain, stored: Plain) -> Iterator[FieldError]:
    # Once an object is being deleted, finalizers can only be removed.
    if stored.get("deletionTimestamp"):
        yield from _new_finalizers(_finalizers_of(meta), _finalizers_of(stored))
    generation, before = meta.get("generation") or 0, stored.get("generation") or 0
    if generation < before:
        yield invalid("metadata.generation", generation, "must not be decremented")
    for field in _IMMUTABLE:
        if text(meta, field) != text(stored, field):
            yield invalid(f"metadata.{field}", text(meta, field), "field is immutable")
    for field in _IMMUTABLE_OR_NULL:
        if meta.get(field) != stored.get(field):
            yield invalid(f"metadata.{field}", meta.get(field), "field is immutable")
    yield from _labels(meta)
    yield from annotation_errors("metadata.annotations", _strings(meta, "annotations"))
    yield from _owner_references(meta)
    yield from _managed_fields(meta)


def _namespace(namespace: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not namespaced:
        if namespace:
            yield forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        for detail in names.label(namespace):
            yield invalid("metadata.namespace", namespace, detail)


def _labels(meta: Plain) -> Iterator[FieldError]:
    for key, value in _strings(meta, "labels").items():
        for detail in names.qualified_name(key):
            yield invalid("metadata.labels", key, detail)
        if not names.is_plain(value):
            for detail in names.LABEL_VALUE(value):
                yield invalid("metadata.labels", value, detail)


def _owner_references(meta: Plain) -> Iterator[FieldError]:
    field = "metadata.ownerReferences"
    references = items(meta, "ownerReferences")
    controller = ""
    shaped: list[Plain] = []
    for reference in references:
        yield from _owner_reference(field, reference)
        if reference.get("controller") is not True:
            continue
        this = f"{text(reference, 'kind')}/{text(reference, 'name')}"
        if controller:
            problem = 'Only one reference can have Controller set to true. Found "true" in references for'
            shaped = shaped or [_format_reference(owner) for owner in references]
            yield invalid(field, shaped, f"{problem} {controller} and {this}")
        controller = controller or this


def _owner_reference(field: str, reference: Plain) -> Iterator[FieldError]:
    api_version = text(reference, "apiVersion")
    if api_version.count("/") > 1 or not api_version.rpartition("/")[2]:
        yield invalid(f"{field}.apiVersion", api_version, "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not text(reference, name):
            yield invalid(f"{field}.{name}", "", "must not be empty")
    if api_version in {"v1", "/v1"} and text(reference, "kind") == "Event":
        yield invalid(field, _format_reference(reference), "/v1, Kind=Event is disallowed from being an owner")


def _format_reference(reference: Plain) -> Plain:
    """Format a reference as the server prints it: in Go's order, with all required fields."""
    always: Plain = {name: text(reference, name) for name in _REFERENCE_FIELDS[:4]}
    return always | {name: reference[name] for name in _REFERENCE_FIELDS[4:] if reference.get(name) is not None}


def _finalizers(meta: Plain) -> Iterator[FieldError]:
    finalizers = _finalizers_of(meta)
    for finalizer in finalizers:
        for detail in names.qualified_name(finalizer):
            yield invalid("metadata.finalizers", finalizer, detail)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        problem = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield invalid("metadata.finalizers", finalizers, problem)


def _finalizer_names(meta: Plain, strategy: Strategy) -> Iterator[FieldError]:
    if not strategy.known_finalizers:
        return
    for index, item in enumerate(_finalizers_of(meta)):
        if "/" not in item and item not in KNOWN_FINALIZERS:
            problem = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", item, problem)


def _new_finalizers(finalizers: list[str], stored: list[str]) -> Iterator[FieldError]:
    if added := sorted(set(finalizers) - set(stored)):
        listed = ", ".join(quoted(item) for item in added)
        problem = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield forbidden("metadata.finalizers", f"{problem} []string{{{listed}}}")


def _managed_fields(meta: Plain) -> Iterator[FieldError]:
    # Entries that make no sense otherwise are dropped before anything is checked.
    for index, entry in enumerate(items(meta, "managedFields")):
        manager, subresource = text(entry, "manager"), text(entry, "subresource")
        if len(manager) < _SHORT and len(subresource) < _SHORT and manager.isprintable():
            continue
        path = f"metadata.managedFields[{index}]"
        yield from manager_errors(manager, f"{path}.manager")
        if len(subresource.encode()) > _MAX_SUBRESOURCE_LENGTH:
            yield too_long(f"{path}.subresource", _MAX_SUBRESOURCE_LENGTH)


def _finalizers_of(meta: Plain) -> list[str]:
    return cast("list[str]", meta.get("finalizers") or [])


def _strings(meta: Plain, name: str) -> dict[str, str]:
    return cast("dict[str, str]", meta.get(name) or {})

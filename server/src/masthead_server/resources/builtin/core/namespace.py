"""Namespaces: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import follows, words
from masthead_server.resources.validation.metadata import KNOWN_FINALIZERS
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain


def _label_by_name(namespace: Plain) -> None:
    meta = metadata(namespace)
    name = text(meta, "name")
    # With generateName the name is unknown at this point; `_prepare_namespace` sets the label then.
    if name:
        if meta.get("labels") is None:
            meta["labels"] = {}
        meta["labels"]["kubernetes.io/metadata.name"] = name


DEFAULTS: Final[Fill] = shape(always={"status": shape(blank={"phase": "Active"})}, then=_label_by_name)


def namespace_errors(namespace: Plain) -> Errors:
    """Return the errors of a new namespace."""
    errors: Errors = []
    path = "spec.finalizers"
    for name in words(part(namespace, "spec"), "finalizers"):
        errors += follows(path, name, names.qualified_name)
        if "/" not in name and name not in KNOWN_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid(path, name, why))
    return errors


def namespace_status_errors(new: Plain, _old: Plain) -> Errors:
    """Validate the phase of a namespace, which depends on its deletion alone."""
    phase, goes = text(part(new, "status"), "phase"), bool(metadata(new).get("deletionTimestamp"))
    wanted, empty = ("Terminating", "not empty") if goes else ("Active", "empty")
    if phase == wanted:
        return []
    # kube-apiserver capitalizes this path.
    return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {empty}")]


def _prepare_namespace(namespace: Plain, _allocate: Allocator) -> None:
    spec = namespace.setdefault("spec", {})
    finalizers = words(spec, "finalizers")
    # Not a default, because the namespace controller removes this finalizer at the end of a deletion.
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]
    meta = metadata(namespace)
    meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": text(meta, "name")}
    namespace["status"] = {"phase": "Active"}


def _keep_finalizers(new: Plain, old: Plain) -> None:
    # Only the finalize subresource may change them, or a client could skip the cleanup.
    spec = new.setdefault("spec", {})
    spec.pop("finalizers", None)
    kept = words(part(old, "spec"), "finalizers")
    if kept:
        spec["finalizers"] = kept


def _merge_finalizers(new: Plain, old: Plain) -> Plain:
    """``namespaces/finalize``: the finalizers of the spec."""
    spec = {**part(old, "spec")}
    spec.pop("finalizers", None)
    if wanted := part(new, "spec").get("finalizers"):
        spec["finalizers"] = wanted
    return {**old, "metadata": new["metadata"], "spec": spec}


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_namespace,
        prepare_update=_keep_finalizers,
        validate_create=namespace_errors,
        validate_status=namespace_status_errors,
    ),
    subresources={"finalize": SubresourceBehavior(merge=_merge_finalizers)},
)

"""Behavior of Namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior
from masthead_server.resources.builtin.core.namespace.defaults import DEFAULTS
from masthead_server.resources.builtin.core.namespace.validation import (
    namespace_errors,
    namespace_status_errors,
)
from masthead_server.resources.validation.checks import words
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _prepare_namespace(namespace: Plain, _allocate: Allocator) -> None:
    spec = namespace.setdefault("spec", {})
    finalizers = words(spec, "finalizers")
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]
    meta = metadata(namespace)
    meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": text(meta, "name")}
    namespace["status"] = {"phase": "Active"}


def _keep_finalizers(new: Plain, old: Plain) -> None:
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

"""Behavior of PersistentVolumeClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.core.persistentvolumeclaim.defaults import CLAIM
from masthead_server.resources.builtin.core.persistentvolumeclaim.validation import (
    claim_changes,
    claim_status_errors,
)
from masthead_server.resources.builtin.core.persistentvolumeclaim.warnings import (
    persistent_volume_claim_warnings,
)
from masthead_server.resources.protection import protect
from masthead_server.resources.validation.volume_claims import claim_spec_errors
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _default_class(allocate: Allocator) -> str:
    """Name the class for claims that name none: the newest of those that are marked as the default."""
    marked = [
        metadata(each)
        for each in allocate.listed("storage.k8s.io", "storageclasses")
        if any(part(metadata(each), "annotations").get(key) == "true" for key in _DEFAULT_CLASS)
    ]
    ranked = sorted(marked, key=lambda meta: text(meta, "name"))
    ranked.sort(key=lambda meta: text(meta, "creationTimestamp"), reverse=True)
    return text(ranked[0], "name") if ranked else ""


_OLD_SOURCES: Final = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})


def _pair_sources(claim: Plain) -> None:
    """Write the source of a claim's data in both fields that can say it; the older field drops what it does not know."""
    spec = part(claim, "spec")
    source = part(spec, "dataSource")
    known = (text(source, "apiGroup"), text(source, "kind")) in _OLD_SOURCES
    if source and not known and spec.get("dataSourceRef") is None:
        del spec["dataSource"]
    one, other = spec.get("dataSource"), spec.get("dataSourceRef")
    if one is not None and other is None:
        spec["dataSourceRef"] = dict(one)
    elif other is not None and one is None and not other.get("namespace"):
        # Only dataSourceRef can name an object of another namespace.
        spec["dataSource"] = {key: value for key, value in other.items() if key != "namespace"}


def _prepare_claim(claim: Plain, allocate: Allocator) -> None:
    spec = claim["spec"]
    annotated = part(metadata(claim), "annotations").get("volume.beta.kubernetes.io/storage-class")
    if spec.get("storageClassName") is None and annotated is None:
        name = _default_class(allocate)
        if name:
            spec["storageClassName"] = name
    protect(claim, "kubernetes.io/pvc-protection")
    _pair_sources(claim)
    claim["status"] = {"phase": "Pending"}


BEHAVIOR: Final = Behavior(
    defaults=CLAIM,
    hooks=StrategyHooks(
        prepare_create=_prepare_claim,
        prepare_update=lambda new, _old: _pair_sources(new),
        validate_create=lambda obj: claim_spec_errors(part(obj, "spec"), "spec"),
        validate_update=claim_changes,
        validate_status=claim_status_errors,
    ),
    warnings=always(persistent_volume_claim_warnings),
)

"""The API of a Kubernetes release, with the API versions that it no longer serves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._codegen import sources
from masthead._codegen.spec import Spec
from masthead.errors import GenerateError
from tools import removed_versions
from tools.enumerations import with_enumerations

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.resource import Resource

__all__ = ["BUILTIN", "add_options", "read"]

_ANY: Final = ""
BUILTIN: Final = (
    "io.k8s.api.",
    "io.k8s.apiextensions-apiserver.",
    "io.k8s.apimachinery.",
    "io.k8s.kube-aggregator.",
)
"""The beginnings of the names of Kubernetes' own schemas."""

REMOVALS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "apps/v1beta1": {_ANY: ("1.16", "apps/v1")},
    "apps/v1beta2": {_ANY: ("1.16", "apps/v1")},
    "authentication.k8s.io/v1alpha1": {_ANY: ("1.32", "authentication.k8s.io/v1")},
    "authentication.k8s.io/v1beta1": {
        _ANY: ("1.33", "authentication.k8s.io/v1"),
        "TokenReview": ("1.22", "authentication.k8s.io/v1"),
    },
    "authorization.k8s.io/v1beta1": {_ANY: ("1.22", "authorization.k8s.io/v1")},
    "autoscaling/v2beta1": {_ANY: ("1.25", "autoscaling/v2")},
    "autoscaling/v2beta2": {_ANY: ("1.26", "autoscaling/v2")},
    "batch/v1beta1": {_ANY: ("1.25", "batch/v1")},
    "coordination.k8s.io/v1alpha1": {_ANY: ("1.32", "coordination.k8s.io/v1beta1")},
    "discovery.k8s.io/v1beta1": {_ANY: ("1.25", "discovery.k8s.io/v1")},
    "events.k8s.io/v1beta1": {_ANY: ("1.25", "events.k8s.io/v1")},
    "extensions/v1beta1": {
        _ANY: ("1.16", "apps/v1"),
        "NetworkPolicy": ("1.16", "networking.k8s.io/v1"),
        "Ingress": ("1.22", "networking.k8s.io/v1"),
    },
    "flowcontrol.apiserver.k8s.io/v1beta1": {_ANY: ("1.26", "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta2": {_ANY: ("1.29", "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta3": {_ANY: ("1.32", "flowcontrol.apiserver.k8s.io/v1")},
    "networking.k8s.io/v1alpha1": {_ANY: ("1.33", "networking.k8s.io/v1")},
    "node.k8s.io/v1alpha1": {_ANY: ("1.24", "node.k8s.io/v1")},
    "node.k8s.io/v1beta1": {_ANY: ("1.25", "node.k8s.io/v1")},
    "policy/v1beta1": {_ANY: ("1.25", "policy/v1")},
    "rbac.authorization.k8s.io/v1alpha1": {_ANY: ("1.23", "rbac.authorization.k8s.io/v1")},
    "rbac.authorization.k8s.io/v1beta1": {_ANY: ("1.22", "rbac.authorization.k8s.io/v1")},
    "scheduling.k8s.io/v1alpha1": {_ANY: ("1.23", "scheduling.k8s.io/v1")},
    "scheduling.k8s.io/v1beta1": {_ANY: ("1.22", "scheduling.k8s.io/v1")},
    "storage.k8s.io/v1alpha1": {
        _ANY: ("1.24", "storage.k8s.io/v1"),
        "VolumeAttributesClass": ("1.35", "storage.k8s.io/v1"),
    },
    "storagemigration.k8s.io/v1alpha1": {_ANY: ("1.35", "storagemigration.k8s.io/v1beta1")},
}
"""The release that stopped serving each kind, and the API version that replaces it.

The documents do not have this: it is from the release notes and the deprecation guide of Kubernetes."""


def read(openapi: Path, legacy: Path | None = None) -> Spec:
    """Read the API of a release, and add the API versions that it no longer serves, marked as removed.

    Where both describe a type, that of the release is taken.

    Args:
        openapi: The OpenAPI v3 and discovery documents of the release.
        legacy: Those of the API versions that it no longer serves; None to read them back from their classes.

    Raises:
        GenerateError: If documents are missing or malformed, or a removed kind is not in the table above.
    """
    current = _builtin(sources.from_folder(openapi))
    earlier = sources.from_folder(legacy) if legacy else removed_versions.read_classes()
    removed = {
        gvk: _mark_removed(gvk, resource, current)
        for gvk, resource in earlier.resources.items()
        if gvk not in current.resources
    }
    return with_enumerations(Spec({**earlier.schemas, **current.schemas}, {**removed, **current.resources}))


def _builtin(spec: Spec) -> Spec:
    """Return the spec without custom resources, which a cluster may have."""
    schemas = {name: schema for name, schema in spec.schemas.items() if name.startswith(BUILTIN)}
    kinds = {kind for schema in schemas.values() for kind in schema.kinds}
    return Spec(schemas, {kind: resource for kind, resource in spec.resources.items() if kind in kinds})


def _mark_removed(gvk: GroupVersionKind, resource: Resource, current: Spec) -> Resource:
    kinds = REMOVALS.get(gvk.api_version, {})
    if _ANY not in kinds:
        raise GenerateError(f"{gvk} is not in the table of removals: add the release that stopped serving it")
    release, replacement = kinds.get(gvk.kind, kinds[_ANY])
    if not any((served.api_version, served.kind) == (replacement, gvk.kind) for served in current.resources):
        raise GenerateError(f"{gvk} cannot be replaced by {replacement}, which does not serve the kind")
    return msgspec.structs.replace(resource, removed_in=release, replacement=replacement)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the documents."""
    parser.add_argument(
        "--openapi",
        type=Path,
        required=True,
        metavar="DIR",
        help="a folder with the OpenAPI v3 and discovery documents of a Kubernetes release",
    )
    parser.add_argument(
        "--legacy",
        type=Path,
        metavar="DIR",
        help="a folder with the documents of API versions that the release no longer serves (default: their classes)",
    )

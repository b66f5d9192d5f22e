"""The scheme: the group-versions that Kubernetes 1.36 serves, and the generated class of every kind in them.

It is a constant of the server, like the types that are compiled into kube-apiserver. Neither the registry of
the clients nor custom resources change it; `masthead_server.resources.catalog.Catalog` is what a server
serves.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, cast

from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.object import Object

__all__ = ["VERSIONS", "is_registered", "kinds_in", "object_class"]

VERSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("v1",),
    "apiregistration.k8s.io": ("v1",),
    "apps": ("v1",),
    "events.k8s.io": ("v1",),
    "authentication.k8s.io": ("v1",),
    "authorization.k8s.io": ("v1",),
    "autoscaling": ("v2", "v1"),
    "batch": ("v1",),
    "certificates.k8s.io": ("v1", "v1beta1", "v1alpha1"),
    "networking.k8s.io": ("v1", "v1beta1"),
    "policy": ("v1",),
    "rbac.authorization.k8s.io": ("v1",),
    "storage.k8s.io": ("v1", "v1beta1"),
    "admissionregistration.k8s.io": ("v1", "v1beta1", "v1alpha1"),
    "apiextensions.k8s.io": ("v1",),
    "scheduling.k8s.io": ("v1", "v1alpha2"),
    "coordination.k8s.io": ("v1", "v1beta1", "v1alpha2"),
    "node.k8s.io": ("v1",),
    "discovery.k8s.io": ("v1",),
    "resource.k8s.io": ("v1", "v1beta2", "v1beta1", "v1alpha3"),
    "flowcontrol.apiserver.k8s.io": ("v1",),
    "internal.apiserver.k8s.io": ("v1alpha1",),
    "storagemigration.k8s.io": ("v1beta1",),
}
"""The groups in the order in which discovery lists them, and the versions of each, the preferred one
first."""


def kinds_in(group: str, version: str) -> Mapping[str, str]:
    """Return the kinds and list kinds of a group-version, each with its resource; empty if it has none."""
    if version not in VERSIONS.get(group, ()):
        return {}
    return _index()[f"{group}/{version}" if group else version][1]


def is_registered(gvk: GroupVersionKind) -> bool:
    """Tell whether the scheme has a kind or list kind."""
    return gvk.kind in kinds_in(gvk.group, gvk.version)


def object_class(gvk: GroupVersionKind) -> type[Object]:
    """Return the generated class of a kind; its module is imported on demand.

    Raises:
        UnknownKindError: If the scheme does not have the kind.
    """
    if not is_registered(gvk):
        raise UnknownKindError(f"the server does not know {gvk}")
    return cast("type[Object]", getattr(importlib.import_module(_index()[gvk.api_version][0]), gvk.kind))


def _index() -> Mapping[str, tuple[str, dict[str, str]]]:
    from masthead.api.index import KINDS

    return KINDS

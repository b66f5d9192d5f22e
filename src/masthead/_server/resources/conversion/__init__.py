"""Kinds that are served in several versions: which version is stored, and how the others differ from it.

Every object is stored once, in the version that `storage_of` names, whatever version it was written in. Most
versions of a kind have one shape, and only ``apiVersion`` tells them apart. Where the shapes differ, `to_storage`
and `from_storage` know how. They leave ``apiVersion`` and ``kind`` to the caller, never change the object that they
are given, and share with it the parts that stay the same.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._server import scheme
from masthead._server.resources.builtin.autoscaling.horizontalpodautoscaler import conversion as autoscaling
from masthead._server.resources.builtin.events.event import conversion as events
from masthead._server.resources.builtin.resource import conversion as devices

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain


class StoredAs(NamedTuple):
    """The kind that a resource is stored as."""

    group: str
    version: str
    kind: str


_STORED_AS: Final = {
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): (
        "admissionregistration.k8s.io",
        "v1beta1",
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): (
        "admissionregistration.k8s.io",
        "v1beta1",
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("apiextensions.k8s.io", "v1beta1"),
    ("events.k8s.io", "events"): ("", "v1"),
    ("resource.k8s.io", "devicetaintrules"): ("resource.k8s.io", "v1alpha3"),
}
"""Where the stored version is not simply the foremost one that serves the resource."""

_NEVER_STORED: Final = frozenset({("", "bindings"), ("", "componentstatuses")})
_GROUPS_OF_QUESTIONS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""What is posted there is answered, not kept."""

_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {"": 2, "beta": 1, "alpha": 0}

_Change = Callable[["Plain"], "Plain"]

_SHAPES: Final[dict[tuple[str, str, str], tuple[_Change, _Change]]] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): (
        autoscaling.v1_to_v2,
        autoscaling.v2_to_v1,
    ),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): (
        autoscaling.without_v1_annotations,
        autoscaling.without_v1_annotations,
    ),
    ("events.k8s.io", "v1", "Event"): (events.to_core, events.from_core),
    ("resource.k8s.io", "v1beta1", "ResourceClaim"): (
        devices.claim_from_v1beta1,
        devices.claim_to_v1beta1,
    ),
    ("resource.k8s.io", "v1beta1", "ResourceClaimTemplate"): (
        devices.template_from_v1beta1,
        devices.template_to_v1beta1,
    ),
    ("resource.k8s.io", "v1beta1", "ResourceSlice"): (
        devices.slice_from_v1beta1,
        devices.slice_to_v1beta1,
    ),
}
"""To and from the shape that is stored, for the versions whose own shape is another."""


def to_storage(obj: Plain, kind: str, group: str, version: str) -> Plain:
    """Give an object the shape in which it is stored; events of ``events.k8s.io`` become those of the core."""
    shape = _SHAPES.get((group, version, kind))
    return shape[0](obj) if shape else obj


def from_storage(obj: Plain, kind: str, group: str, version: str) -> Plain:
    """Give a stored object the shape that a group and version serve."""
    shape = _SHAPES.get((group, version, kind))
    return shape[1](obj) if shape else obj


def has_own_shape(kind: str, group: str, version: str) -> bool:
    """Tell whether objects of this version are stored in another shape."""
    return (group, version, kind) in _SHAPES


def storage_of(group: str, resource: str) -> StoredAs | None:
    """Tell as what a resource is stored: resources that answer the same share their objects.

    The version may be one that is no longer served: CustomResourceDefinitions are kept as ``v1beta1``.

    Returns:
        None if nothing of it is kept, or if it is not a resource of Kubernetes itself.
    """
    kinds = _served().get((group, resource))
    if kinds is None or group in _GROUPS_OF_QUESTIONS or (group, resource) in _NEVER_STORED:
        return None
    foremost = next(iter(kinds))
    stored_group, stored_version = _STORED_AS.get((group, resource), (group, foremost))
    return StoredAs(stored_group, stored_version, kinds[foremost])


def versions_of(group: str, resource: str) -> tuple[str, ...]:
    """The versions in which Kubernetes itself serves a resource, the foremost first; none if it does not."""
    return tuple(_served().get((group, resource), ()))


def storage_version_hash(group: str, resource: str) -> str:
    """What discovery says of the version in which a resource is stored; empty if it is not."""
    stored = storage_of(group, resource)
    return hash_of(*stored) if stored else ""


def hash_of(group: str, version: str, kind: str) -> str:
    """Condense the kind that something is stored as, for discovery; custom resources have one, too."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode("ascii")


@cache
def _served() -> dict[tuple[str, str], dict[str, str]]:
    """For each group and resource, the kind in each version, the foremost version first."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for group, versions in scheme.VERSIONS.items():
        for version in versions:
            for kind, resource in scheme.kinds_in(group, version).items():
                if resource:
                    found.setdefault((group, resource), {})[version] = kind
    return found


def precedence(api_version: str) -> tuple[int, int, int]:
    """How far in front a version stands: stable ones before beta and alpha, newer before older."""
    parsed = _VERSION.fullmatch(api_version.rpartition("/")[2])
    if parsed is None:
        return (-1, 0, 0)
    major, stability, minor = parsed.groups(default="")
    return (_STABILITY[stability], int(major), int(minor or 0))

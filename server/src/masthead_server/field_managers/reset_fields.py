"""Reset fields: the fields that a write to a resource or subresource cannot change, and its manager does not own.

Most kinds follow one rule: a write of the object resets the status, and a write of the status resets the spec. The
tables here have the exceptions that kube-apiserver's registries declare. Fields that a kind does not declare are owned
by their writers, even if the write does not change them, such as the containers that ``pods/resize`` leaves alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._meta.gvk import GroupVersion
from masthead._schema.field_sets import FieldSet
from masthead_server import scheme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._schema.path_elements import Path
    from masthead._schema.structured_merge.managers import Filter
    from masthead_server.resources.custom.definition import DefinitionVersion
    from masthead_server.resources.resource import ServedResource

__all__ = ["reset_filters"]

Filters: TypeAlias = "Mapping[str, Filter]"
"""Filters by apiVersion."""

_SPEC: Final[Path] = ("f:spec",)
_STATUS: Final[Path] = ("f:status",)
_METADATA: Final[Path] = ("f:metadata",)

_STATUS_RESETS_METADATA: Final = frozenset(
    {
        "admissionregistration.k8s.io/validatingadmissionpolicies",
        "apiregistration.k8s.io/apiservices",
        "flowcontrol.apiserver.k8s.io/flowschemas",
        "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
        "internal.apiserver.k8s.io/storageversions",
        "networking.k8s.io/servicecidrs",
        "resource.k8s.io/devicetaintrules",
        "resource.k8s.io/resourceclaims",
        "resource.k8s.io/resourcepoolstatusrequests",
        "scheduling.k8s.io/podgroups",
        "storage.k8s.io/volumeattachments",
        "storagemigration.k8s.io/storageversionmigrations",
    }
)
"""The resources for which a write of the status resets the metadata, too."""

_RESET: Final[Mapping[tuple[str, str], tuple[Path, ...]]] = {
    # Writes of these objects reset the status, but kube-apiserver does not declare it.
    ("certificates.k8s.io/podcertificaterequests", ""): (),
    ("scheduling.k8s.io/podgroups", ""): (),
    ("certificates.k8s.io/certificatesigningrequests", ""): (_SPEC, _STATUS),
    ("certificates.k8s.io/certificatesigningrequests", "status"): (_SPEC, ("f:status", "f:conditions")),
    ("certificates.k8s.io/certificatesigningrequests", "approval"): (_SPEC, ("f:status", "f:certificate")),
    ("namespaces", "finalize"): (_STATUS,),
    ("pods", "status"): (
        _SPEC,
        ("f:metadata", "f:deletionTimestamp"),
        ("f:metadata", "f:ownerReferences"),
    ),
    ("apps/deployments", "status"): (_SPEC, ("f:metadata", "f:labels")),
}
"""The fields that writes reset, by resource and subresource, where the rule does not hold."""


def reset_filters(served: ServedResource, subresource: str) -> Filters:
    """Return the filters that remove the reset fields of a resource or subresource.

    Args:
        served: The resource.
        subresource: The subresource; empty for the object itself.

    Returns:
        The filters by apiVersion. In a version without a filter, every written field is owned.
    """
    if served.definition is not None:
        return _custom_filters(served, served.definition, subresource)
    return _builtin_filters(served.group, served.name, subresource, has_status=served.strategy.has_status)


def _custom_filters(served: ServedResource, version: DefinitionVersion, subresource: str) -> Filters:
    if subresource == "status":
        keep = _without(_METADATA, _SPEC)
        return {served.gvk.api_version: keep for served in version.definition.versions.values() if served.has_status}
    # For the object itself, kube-apiserver declares reset fields only in the version of the request.
    return {served.api_version: _without(_STATUS)} if version.has_status and not subresource else {}


def _builtin_filters(group: str, name: str, subresource: str, *, has_status: bool) -> Filters:
    resource = f"{group}/{name}" if group else name
    paths = _reset_paths(resource, subresource, has_status=has_status)
    if not paths:
        return {}
    keep = _without(*paths)
    return {
        str(GroupVersion(group, version)): keep
        for version in scheme.VERSIONS[group]
        if name in scheme.kinds_in(group, version).values()
    }


def _reset_paths(resource: str, subresource: str, *, has_status: bool) -> tuple[Path, ...]:
    declared = _RESET.get((resource, subresource))
    if declared is not None:
        return declared
    if subresource == "status":
        return (_METADATA, _SPEC) if resource in _STATUS_RESETS_METADATA else (_SPEC,)
    return (_STATUS,) if has_status and not subresource else ()


def _without(*paths: Path) -> Filter:
    reset = FieldSet.of(*paths)
    return lambda fields: fields.without_trees(reset)

"""Validation of the volumes of a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.builtin.resource.checks import driver_errors
from masthead_server.resources.validation.checks import PULL_POLICIES, amount, each_of, follows, given, one_of
from masthead_server.resources.validation.local_paths import descending_errors
from masthead_server.resources.validation.storage_sources import (
    STORAGE_SOURCES,
    given_secret,
    needs,
    scsi_errors,
    scsi_length_errors,
    source_errors,
    storage_os_errors,
)
from masthead_server.resources.validation.template_metadata import template_metadata_errors
from masthead_server.resources.validation.volume_claims import claim_spec_errors
from masthead_server.resources.validation.volume_files import check_downward, check_projected, object_files
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.validation.storage_sources import Check
    from masthead_server.wire.plain import Plain

__all__ = ["volume_errors"]

_MISSPELT: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def _check_empty_dir(path: str, source: Plain) -> Errors:
    # The message is about the format, although the sign is the problem.
    if amount(source.get("sizeLimit")).sign < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _check_git(path: str, source: Plain) -> Errors:
    return needs("repository")(path, source) + descending_errors(f"{path}.directory", text(source, "directory"))


def _check_cinder(path: str, source: Plain) -> Errors:
    return needs("volumeID")(path, source) + given_secret(path, source, in_namespace=False)


def _check_csi(path: str, source: Plain) -> Errors:
    errors = driver_errors(f"{path}.driver", text(source, "driver"))
    if source.get("nodePublishSecretRef") is None:
        return errors
    name = text(part(source, "nodePublishSecretRef"), "name")
    if not name:
        return [*errors, required(f"{path}.nodePublishSecretRef.name")]
    # kube-apiserver's path lacks the reference.
    return errors + follows(f"{path}.name", name, names.SUBDOMAIN)


def _check_ephemeral(path: str, source: Plain) -> Errors:
    path = f"{path}.volumeClaimTemplate"
    if source.get("volumeClaimTemplate") is None:
        return [required(path)]
    template = part(source, "volumeClaimTemplate")
    errors = template_metadata_errors(part(template, "metadata"), f"{path}.metadata")
    return errors + claim_spec_errors(part(template, "spec"), f"{path}.spec")


def _check_image(path: str, source: Plain) -> Errors:
    return one_of(f"{path}.pullPolicy", source.get("pullPolicy"), PULL_POLICIES)


_SOURCES: Final[dict[str, Check]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": STORAGE_SOURCES["hostPath"],
    "gitRepo": _check_git,
    "gcePersistentDisk": STORAGE_SOURCES["gcePersistentDisk"],
    "awsElasticBlockStore": STORAGE_SOURCES["awsElasticBlockStore"],
    "secret": object_files("secretName"),
    "nfs": STORAGE_SOURCES["nfs"],
    "iscsi": lambda path, source: scsi_errors(path, source, is_persistent=False),
    "glusterfs": STORAGE_SOURCES["glusterfs"],
    "flocker": STORAGE_SOURCES["flocker"],
    "persistentVolumeClaim": needs("claimName"),
    "rbd": STORAGE_SOURCES["rbd"],
    "cinder": _check_cinder,
    "cephfs": STORAGE_SOURCES["cephfs"],
    "quobyte": STORAGE_SOURCES["quobyte"],
    "downwardAPI": check_downward,
    "fc": STORAGE_SOURCES["fc"],
    "flexVolume": STORAGE_SOURCES["flexVolume"],
    "configMap": object_files("name"),
    "azureFile": STORAGE_SOURCES["azureFile"],
    "vsphereVolume": STORAGE_SOURCES["vsphereVolume"],
    "photonPersistentDisk": STORAGE_SOURCES["photonPersistentDisk"],
    "portworxVolume": STORAGE_SOURCES["portworxVolume"],
    "azureDisk": STORAGE_SOURCES["azureDisk"],
    "storageos": lambda path, source: storage_os_errors(path, source, in_namespace=False),
    "projected": check_projected,
    "scaleIO": STORAGE_SOURCES["scaleIO"],
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
"""The checks of the sources of a volume, in the order of kube-apiserver."""


def volume_errors(spec: Plain, path: str, *, of_pod: bool, pod_name: str = "") -> tuple[dict[str, Plain], Errors]:
    """Validate a pod's volumes; return the valid ones by name, too, which containers may mount.

    Args:
        spec: The spec of the pod.
        path: Where it is.
        of_pod: Whether it is that of a pod rather than of a template.
        pod_name: The name of the pod; empty for a template.
    """
    good: dict[str, Plain] = {}
    errors: Errors = []
    created = {f"{pod_name}-{text(volume, 'name')}" for volume in items(spec, "volumes") if "ephemeral" in volume}
    for at, volume in each_of(spec, "volumes", path):
        found = _one_volume_errors(volume, at, of_pod=of_pod, pod_name=pod_name)
        name = text(volume, "name")
        found += given(f"{at}.name", name, names.label)
        if name in good:
            found.append(duplicate(f"{at}.name", name))
        # A volume with errors counts as missing, so that its mounts are reported, too.
        if not found:
            good[name] = volume
        errors += found
        claim = text(part(volume, "persistentVolumeClaim"), "claimName")
        if pod_name and claim in created:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, why))
    return good, errors


def _one_volume_errors(volume: Plain, path: str, *, of_pod: bool, pod_name: str) -> Errors:
    stated = [source for source in volume if source in _SOURCES and volume[source] is not None]
    if not stated:
        return [required(path, "must specify a volume type")]
    # Several sources are reported in kube-apiserver's order, not in that of the request.
    if len(stated) > 1:
        stated = [source for source in _SOURCES if source in stated]
    errors: Errors = []
    # The image of a template may come later.
    if stated == ["image"] and of_pod and not part(volume, "image").get("reference"):
        errors.append(required(f"{path}.image.reference"))
    errors += source_errors(path, volume, stated, _SOURCES, _MISSPELT)
    name = text(volume, "name")
    if "iscsi" in stated:
        errors += scsi_length_errors(f"{path}.name", part(volume, "iscsi"), name, name)
    if stated[0] == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        problems = names.SUBDOMAIN(claim)
        errors += [invalid(f"{path}.name", name, f"PVC name {quoted(claim)}: {problem}") for problem in problems]
    return errors

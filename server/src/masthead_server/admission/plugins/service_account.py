"""ServiceAccount: pods have a service account that exists, and its token in a volume."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.pod_secrets import find_unlisted_secret, list_secret_names
from masthead_server.admission.refusals import forbid
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["TOKEN_MOUNT_PATH", "ServiceAccount"]

TOKEN_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where containers find the token of their account."""
_DEFAULT_ACCOUNT: Final = "default"
_VOLUME_PREFIX: Final = "kube-api-access-"
_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCES: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_TOKEN_SECONDS: Final = 3607
"""An hour and some seconds, by which old clients that never reload a token are recognized."""
_LOOKUPS: Final = 10
"""Attempts to find the default account, which a controller creates soon after its namespace."""


class ServiceAccount(AdmissionPlugin):
    """Sets the account of new pods, mounts its token and copies its pull secrets."""

    name = "ServiceAccount"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a pod or adds ephemeral containers to one."""
        if served.table != "pods":
            return False
        is_creation = operation is Operation.CREATE and not subresource
        return is_creation or (operation is Operation.UPDATE and subresource == "ephemeralcontainers")

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Complete a new pod. A mirror pod stays as its kubelet wrote it."""
        pod = attributes.object
        if pod is None or attributes.operation is not Operation.CREATE:
            return
        if not _is_mirror(pod):
            spec = pod.setdefault("spec", {})
            if not spec.get("serviceAccountName"):
                spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT_ACCOUNT
            account = await self._find_account(attributes, spec["serviceAccountName"])
            if _mounts_token(account, spec):
                self._mount_token(spec)
            if not spec.get("imagePullSecrets") and (secrets := items(account, "imagePullSecrets")):
                spec["imagePullSecrets"] = [{"name": text(secret, "name")} for secret in secrets]
        await self.validate(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the account and the secrets of a pod."""
        pod = attributes.object or {}
        spec = part(pod, "spec")
        is_creation = attributes.operation is Operation.CREATE
        if is_creation and _is_mirror(pod):
            _check_mirror(attributes, spec)
            return
        name = text(spec, "serviceAccountName")
        if not name:
            where = f"{attributes.namespace}/{text(part(pod, 'metadata'), 'name')}"
            raise forbid(attributes, f"no service account specified for pod {where}")
        account = await self._find_account(attributes, name)
        if part(part(account, "metadata"), "annotations").get(_ENFORCES) in _TRUE:
            problem = find_unlisted_secret(account, spec, of_ephemeral=not is_creation)
            if problem:
                # kube-apiserver returns the error about ephemeral containers unwrapped, which makes it a 500.
                raise forbid(attributes, problem) if is_creation else StatusFailure(500, "", problem)

    async def _find_account(self, attributes: AdmissionAttributes, name: str) -> Plain:
        namespace = attributes.namespace
        for attempt in range(_LOOKUPS if name == _DEFAULT_ACCOUNT else 1):
            if attempt:
                # One turn of the loop, in which the controller of service accounts may create it.
                await asyncio.sleep(0)
            account = find_object(self.cluster, "", "v1", "serviceaccounts", name, namespace)
            if account is not None:
                return account
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbid(attributes, why)

    def _mount_token(self, spec: Plain) -> None:
        """Mount the token into every container that mounts nothing at its path."""
        volumes = items(spec, "volumes")
        existing = (text(volume, "name") for volume in volumes if text(volume, "name").startswith(_VOLUME_PREFIX))
        known = next(existing, "")
        name = known or self.cluster.new_name(_VOLUME_PREFIX)
        is_needed = False
        for container in (*items(spec, "initContainers"), *items(spec, "containers")):
            mounts = items(container, "volumeMounts")
            if not any(mount.get("mountPath") == TOKEN_MOUNT_PATH for mount in mounts):
                mount = {"name": name, "readOnly": True, "mountPath": TOKEN_MOUNT_PATH}
                container["volumeMounts"] = [*mounts, mount]
                is_needed = True
        if is_needed and not known:
            spec["volumes"] = [*volumes, {"name": name, "projected": _make_token_source()}]


def _is_mirror(pod: Plain) -> bool:
    return _MIRROR in part(part(pod, "metadata"), "annotations")


def _mounts_token(account: Plain, spec: Plain) -> bool:
    """Tell whether a pod gets the token; its own wish precedes that of the account."""
    wishes = (owner.get("automountServiceAccountToken") for owner in (spec, account))
    return next((wish for wish in wishes if wish is not None), True)


def _check_mirror(attributes: AdmissionAttributes, spec: Plain) -> None:
    """Refuse references that the kubelet of a static pod cannot resolve."""
    if text(spec, "serviceAccountName"):
        raise forbid(attributes, "a mirror pod may not reference service accounts")
    if any(list_secret_names(spec)):
        raise forbid(attributes, "a mirror pod may not reference secrets")
    sources = (source for volume in items(spec, "volumes") for source in items(part(volume, "projected"), "sources"))
    if any(source.get("serviceAccountToken") is not None for source in sources):
        raise forbid(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _make_token_source() -> Plain:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 0o644,
    }

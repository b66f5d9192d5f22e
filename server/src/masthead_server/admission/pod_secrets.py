"""The secrets that a pod refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["find_unlisted_secret", "list_secret_names"]

_VOLUME_SECRETS: Final = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "secret": "secretName",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}
"""The field of each volume source that names a secret."""
_CONTAINERS: Final = {
    "initContainers": "init container",
    "containers": "container",
    "ephemeralContainers": "ephemeral container",
}


def list_secret_names(spec: Plain) -> Iterator[str]:
    """Iterate over the names of all secrets that a pod refers to."""
    for reference in items(spec, "imagePullSecrets"):
        yield text(reference, "name")
    for field in _CONTAINERS:
        for container in items(spec, field):
            yield from (name for _, name in _list_environment(container))
    for volume in items(spec, "volumes"):
        for source, field in _VOLUME_SECRETS.items():
            value = part(volume, source).get(field)
            if value:
                yield value if isinstance(value, str) else text(value, "name")
        for projection in items(part(volume, "projected"), "sources"):
            if projection.get("secret") is not None:
                yield text(projection["secret"], "name")


def find_unlisted_secret(account: Plain, spec: Plain, *, of_ephemeral: bool) -> str:
    """Return the problem of the first secret that a pod uses and its service account does not list; empty for none.

    Args:
        account: The service account.
        spec: The spec of the pod.
        of_ephemeral: Whether only ephemeral containers are checked, rather than everything else.
    """
    name = text(part(account, "metadata"), "name")
    ending = f"is not allowed because service account {name} does not reference that"
    listed = {text(secret, "name") for secret in items(account, "secrets")}
    fields = ("ephemeralContainers",) if of_ephemeral else ("initContainers", "containers")
    for volume in () if of_ephemeral else items(spec, "volumes"):
        secret = text(part(volume, "secret"), "secretName")
        if volume.get("secret") is not None and secret not in listed:
            return f'volume with secret.secretName="{secret}" {ending} secret'
    for field in fields:
        for container in items(spec, field):
            for reference, secret in _list_environment(container):
                if secret not in listed:
                    owner = f"{_CONTAINERS[field]} {text(container, 'name')}"
                    return f'{owner} with {reference} referencing secret.secretName="{secret}" {ending} secret'
    pullable = {text(secret, "name") for secret in items(account, "imagePullSecrets")}
    for index, pull_secret in enumerate(() if of_ephemeral else items(spec, "imagePullSecrets")):
        if (secret := text(pull_secret, "name")) not in pullable:
            return f'imagePullSecrets[{index}].name="{secret}" {ending} imagePullSecret'
    return ""


def _list_environment(container: Plain) -> Iterator[tuple[str, str]]:
    """Iterate over the references of a container's environment, with the names of the secrets."""
    for variable in items(container, "env"):
        reference = part(variable, "valueFrom").get("secretKeyRef")
        if reference is not None:
            yield f"envVar {text(variable, 'name')}", text(reference, "name")
    for source in items(container, "envFrom"):
        if source.get("secretRef") is not None:
            yield "envFrom", text(source["secretRef"], "name")

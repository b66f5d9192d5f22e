"""The host name of a pod, from its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["CLUSTER_DOMAIN", "UNKNOWN_HOST", "PodHost", "host_name_problem", "host_of"]

CLUSTER_DOMAIN: Final = "cluster.local"
_MAX_NAME: Final = 63
_MAX_KERNEL_NAME: Final = 64
"""The longest name of a host that Linux accepts."""


class PodHost(NamedTuple):
    """The host that the containers of a pod run on, as they see it.

    Attributes:
        name: The name, which ``hostname`` and ``$HOSTNAME`` have.
        fqdn: The fully qualified name; the same as the name if the pod has no domain.
        addresses: The addresses of the pod.
    """

    name: str
    fqdn: str
    addresses: tuple[str, ...] = ()


UNKNOWN_HOST: Final = PodHost("localhost", "localhost")
"""The host of commands that run in no pod."""


def host_of(pod: Plain) -> PodHost:
    """Return the host of a pod, named as by a kubelet."""
    spec = part(pod, "spec")
    name, fqdn = _names_of(pod)
    addresses = tuple(text(address, "ip") for address in items(part(pod, "status"), "podIPs"))
    # A name that Linux refuses prevents the start of the pod, so that nobody sees it.
    is_qualified = spec.get("setHostnameAsFQDN") is True
    return PodHost(fqdn if is_qualified else name, fqdn, addresses)


def host_name_problem(pod: Plain) -> str:
    """Return why a pod cannot have its host name, in the words of a kubelet; empty if it can."""
    name, fqdn = _names_of(pod)
    is_qualified = part(pod, "spec").get("setHostnameAsFQDN") is True and fqdn != name
    if not is_qualified or len(fqdn) <= _MAX_KERNEL_NAME:
        return ""
    return (
        f"failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long "
        f"({_MAX_KERNEL_NAME} characters is the max, {len(fqdn)} characters requested)"
    )


def _names_of(pod: Plain) -> tuple[str, str]:
    """Return the short and the fully qualified name."""
    spec, meta = part(pod, "spec"), metadata(pod)
    # A pod in the network of its node has the node's name, whatever else its spec says.
    if spec.get("hostNetwork") is True:
        node = text(spec, "nodeName")
        return node, node
    if override := text(spec, "hostnameOverride"):
        name = _truncate(override)
        return name, name
    name = _truncate(text(spec, "hostname") or text(meta, "name"))
    if subdomain := text(spec, "subdomain"):
        return name, f"{name}.{subdomain}.{text(meta, 'namespace')}.svc.{CLUSTER_DOMAIN}"
    return name, name


def _truncate(name: str) -> str:
    # A cut may leave a separator at the end.
    return name if len(name) <= _MAX_NAME else name[:_MAX_NAME].rstrip("-.")

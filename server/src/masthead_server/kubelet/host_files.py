"""The files that a kubelet writes for every container: ``/etc/hostname``, ``/etc/hosts``, ``/etc/resolv.conf``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.pod_host import CLUSTER_DOMAIN, host_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.kubelet.filesystem import FileSystem
    from masthead_server.wire.plain import Plain

__all__ = ["host_files", "write_host_files"]

_LOOPBACK: Final = """\
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
_CLUSTER_OPTION: Final = "ndots:5"
_IN_CLUSTER: Final = frozenset({"", "ClusterFirst"})


def host_files(pod: Plain, name_server: str) -> dict[str, str]:
    """Return the contents of the files by their paths.

    Args:
        pod: The pod.
        name_server: The address of the DNS of the cluster.
    """
    return {
        "/etc/hostname": f"{host_of(pod).name}\n",
        "/etc/hosts": _hosts(pod),
        "/etc/resolv.conf": _resolv_conf(pod, name_server),
    }


def _hosts(pod: Plain) -> str:
    spec, host = part(pod, "spec"), host_of(pod)
    is_of_node = spec.get("hostNetwork") is True
    heading = f"# Kubernetes-managed hosts file{' (host network)' if is_of_node else ''}.\n"
    names = dict.fromkeys((host.fqdn, host.name))
    # The addresses of a node are no entries of its own file.
    own = [] if is_of_node else [_line(address, names) for address in host.addresses]
    aliases = [_line(text(alias, "ip"), alias.get("hostnames") or ()) for alias in items(spec, "hostAliases")]
    added = ["\n# Entries added by HostAliases.\n", *aliases] if aliases else []
    return "".join((heading, _LOOPBACK, *own, *added))


def _line(address: str, names: Iterable[object]) -> str:
    return "\t".join((address, *map(str, names))) + "\n"


def _resolv_conf(pod: Plain, name_server: str) -> str:
    spec = part(pod, "spec")
    policy, config = text(spec, "dnsPolicy"), part(spec, "dnsConfig")
    is_of_node = spec.get("hostNetwork") is True
    servers, searches, options = list[str](), list[str](), dict[str, str]()
    # The network of a node has the DNS of the node, unless the pod says otherwise.
    if policy == "ClusterFirstWithHostNet" or (policy in _IN_CLUSTER and not is_of_node):
        services = f"svc.{CLUSTER_DOMAIN}"
        servers = [name_server]
        searches = [f"{text(metadata(pod), 'namespace')}.{services}", services, CLUSTER_DOMAIN]
        options = {"ndots": _CLUSTER_OPTION}
    servers += map(str, config.get("nameservers") or ())
    searches += map(str, config.get("searches") or ())
    for option in items(config, "options"):
        name, value = text(option, "name"), text(option, "value")
        options[name] = f"{name}:{value}" if value else name
    lines = [
        f"search {' '.join(dict.fromkeys(searches))}" if searches else "",
        *(f"nameserver {server}" for server in dict.fromkeys(servers)),
        f"options {' '.join(options.values())}" if options else "",
    ]
    return "".join(f"{line}\n" for line in lines if line)


def write_host_files(files: FileSystem, contents: dict[str, str]) -> None:
    """Write the files into those of a container, except where something exists, such as the file of a volume."""
    for path, content in contents.items():
        folder, _, name = path.rpartition("/")
        # The files of a test may fill the limit, or stand in place of the directory.
        with suppress(OSError):
            files.make_directory(folder, parents=True)
            found = files.directory(folder)
            # A volume over the whole directory is shared: its other users must not see these files.
            if found.owner is files and name not in found.entries:
                files.create(path).append(content.encode())

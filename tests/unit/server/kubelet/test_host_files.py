"""The files that a kubelet writes for every container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from masthead_server.kubelet.filesystem import FileSystem
from masthead_server.kubelet.host_files import host_files, write_host_files

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = dict[str, object]


def files_of(**spec: object) -> dict[str, str]:
    status = {"podIPs": [{"ip": "10.244.0.7"}]}
    pod = {"metadata": {"name": "web-0", "namespace": "shop"}, "spec": spec, "status": status}
    return host_files(pod, "10.0.0.10")


@pytest.fixture
def files() -> Iterator[FileSystem]:
    made = FileSystem(1000, lambda: 0.0)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("spec", "name", "entry"),
    [
        ({}, "web-0", "10.244.0.7\tweb-0\n"),
        ({"hostname": "db"}, "db", "10.244.0.7\tdb\n"),
        (
            {"subdomain": "sets"},
            "web-0",
            "10.244.0.7\tweb-0.sets.shop.svc.cluster.local\tweb-0\n",
        ),
        ({"hostNetwork": True, "nodeName": "node-1"}, "node-1", "ip6-allrouters\n"),
        (
            {"hostAliases": [{"ip": "10.1.2.3", "hostnames": ["a.example.com", "b"]}]},
            "web-0",
            "\n# Entries added by HostAliases.\n10.1.2.3\ta.example.com\tb\n",
        ),
    ],
    ids=["plain", "hostname", "subdomain", "host network", "aliases"],
)
def test_name_and_addresses_follow_the_spec(spec: Plain, name: str, entry: str) -> None:
    found = files_of(**spec)

    assert found["/etc/hostname"] == f"{name}\n"
    assert found["/etc/hosts"].endswith(entry)
    assert "127.0.0.1\tlocalhost\n" in found["/etc/hosts"]


IN_CLUSTER = "search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.10\noptions ndots:5\n"


@pytest.mark.parametrize(
    ("spec", "content"),
    [
        ({}, IN_CLUSTER),
        ({"hostNetwork": True, "dnsPolicy": "ClusterFirst"}, ""),
        ({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}, IN_CLUSTER),
        (
            {
                "dnsPolicy": "None",
                "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a"], "options": [{"name": "edns0"}]},
            },
            "search a\nnameserver 1.1.1.1\noptions edns0\n",
        ),
        (
            {"dnsPolicy": "ClusterFirst", "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}},
            IN_CLUSTER.replace("ndots:5", "ndots:2"),
        ),
    ],
    ids=["default", "host network", "host network in the cluster", "none", "other options"],
)
def test_the_resolver_follows_policy_and_configuration(spec: Plain, content: str) -> None:
    assert files_of(**spec)["/etc/resolv.conf"] == content


def test_existing_files_stay(files: FileSystem) -> None:
    files.create("/etc/hosts").append(b"mine")

    write_host_files(files, files_of())

    assert files.file("/etc/hosts").read(0, 10) == b"mine"
    assert files.file("/etc/hostname").read(0, 10) == b"web-0\n"


def test_a_volume_over_the_directory_stays_as_it_is(files: FileSystem) -> None:
    volume = FileSystem(1000, lambda: 0.0, ())
    files.mount("/etc", volume.root)

    write_host_files(files, files_of())

    assert not volume.root.entries


def test_a_full_file_system_stays_usable() -> None:
    full = FileSystem(3, lambda: 0.0)

    write_host_files(full, files_of())

    assert full.file("/etc/hostname").size == 0

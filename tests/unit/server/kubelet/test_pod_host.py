"""The host names of pods."""

from __future__ import annotations

from typing import Any

import pytest

from masthead_server.kubelet.pod_host import PodHost, host_name_problem, host_of

LONG = "a" * 62


def pod(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"nodeName": "node-2", **spec}}


@pytest.mark.parametrize(
    ("spec", "name", "fqdn"),
    [
        ({}, "web", "web"),
        ({"hostname": "db"}, "db", "db"),
        ({"subdomain": "dbs"}, "web", "web.dbs.shop.svc.cluster.local"),
        ({"hostname": "db", "subdomain": "dbs"}, "db", "db.dbs.shop.svc.cluster.local"),
        (
            {"hostname": "db", "subdomain": "dbs", "setHostnameAsFQDN": True},
            "db.dbs.shop.svc.cluster.local",
            "db.dbs.shop.svc.cluster.local",
        ),
        ({"setHostnameAsFQDN": True}, "web", "web"),
        ({"hostname": "db", "subdomain": "dbs", "hostnameOverride": "a.b"}, "a.b", "a.b"),
        ({"hostname": "db", "subdomain": "dbs", "hostNetwork": True}, "node-2", "node-2"),
        ({"hostNetwork": False}, "web", "web"),
    ],
)
def test_a_pod_is_named_by_the_most_specific_field(spec: dict[str, Any], name: str, fqdn: str) -> None:
    assert host_of(pod(**spec)) == PodHost(name, fqdn)


@pytest.mark.parametrize("name", [f"{LONG}-.-x", f"{LONG}.x", f"{LONG}-"])
def test_a_long_name_is_cut_without_a_separator_at_its_end(name: str) -> None:
    assert host_of(pod(name)).name == (LONG if len(name) > 63 else name)
    assert host_of(pod(hostnameOverride=name)).name == (LONG if len(name) > 63 else name)


def test_a_host_has_the_addresses_of_its_pod() -> None:
    found = {**pod(), "status": {"podIPs": [{"ip": "10.1.0.2"}, {"ip": "fd00::2"}]}}

    assert host_of(found).addresses == ("10.1.0.2", "fd00::2")


def test_a_qualified_name_has_at_most_64_characters() -> None:
    domain = ".dbs.shop.svc.cluster.local"
    fits, is_too_long = "a" * (64 - len(domain)), "a" * (65 - len(domain))

    assert host_name_problem(pod(fits, subdomain="dbs", setHostnameAsFQDN=True)) == ""
    assert host_name_problem(pod(is_too_long, subdomain="dbs", setHostnameAsFQDN=True)) == (
        f"failed to construct FQDN from pod hostname and cluster domain, FQDN {is_too_long}{domain} is too long "
        "(64 characters is the max, 65 characters requested)"
    )


def test_only_names_with_a_domain_can_be_too_long() -> None:
    assert host_name_problem(pod("a" * 200, setHostnameAsFQDN=True)) == ""
    assert host_name_problem(pod("a" * 60, subdomain="dbs")) == ""
    assert host_name_problem(pod(nodeName="n" * 80, hostNetwork=True, setHostnameAsFQDN=True)) == ""

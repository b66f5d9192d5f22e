"""Discovery of the embedded server, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from masthead._meta.registry import registry
from masthead._rest.connect import connect
from masthead._rest.settings import RestSettings
from masthead.aio.discovery import DiscoveryClient, RestMapper
from masthead.config import from_kubeconfig
from masthead.errors import ServiceUnavailableError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._rest.client import RestClient
    from masthead.server import Server


@pytest.fixture
async def rest(kube_server: Server) -> AsyncIterator[RestClient]:
    client = connect(from_kubeconfig(kube_server.kubeconfig()), RestSettings(attempts=1), connections=10)
    yield client
    await client.close()


def asked(server: Server) -> list[tuple[str, int]]:
    return [(request.path, request.code) for request in server.requests]


async def test_everything_comes_with_two_requests_and_is_confirmed_with_two(
    rest: RestClient, kube_server: Server
) -> None:
    discovery = DiscoveryClient(rest)

    first = await discovery.resources()
    again = await discovery.refresh()

    assert first.groups[0].name == ""
    assert again is first
    assert sorted(asked(kube_server)) == [("/api", 200), ("/api", 304), ("/apis", 200), ("/apis", 304)]


async def test_both_formats_have_the_same_result(rest: RestClient) -> None:
    whole = await DiscoveryClient(rest).resources()
    lists = await DiscoveryClient(rest, aggregated=False).resources()

    assert lists.groups == whole.groups
    assert not lists.failures
    by_name = {each.gvr: each for each in whole if each.verbs}
    assert {each.gvr: each for each in lists if each.verbs} == by_name


async def test_every_registered_kind_leads_to_its_resource(rest: RestClient) -> None:
    mapper = RestMapper(DiscoveryClient(rest))
    found = 0
    for gvk in registry.kinds():
        try:
            expected = registry.resource_of(gvk)
        except UnknownKindError:
            continue
        kind = registry.object_class(gvk)
        resource = kind.RESOURCE
        # Other tests of this process may have registered kinds that this server does not serve.
        if resource is None or not resource.verbs or not kind.__module__.startswith("masthead.api."):
            continue
        assert (await mapper.kind(gvk)).gvr == expected
        assert (await mapper.resource(expected)).namespaced == resource.namespaced
        found += 1
    assert found > 90


async def test_names_mean_what_they_mean_to_kubectl(rest: RestClient) -> None:
    mapper = RestMapper(DiscoveryClient(rest))
    expected = {
        "po": "v1 pods",
        "events": "v1 events",
        "ev.events.k8s.io": "events.k8s.io/v1 events",
        "Deployment": "apps/v1 deployments",
        "hpa": "autoscaling/v2 horizontalpodautoscalers",
        "hpa.v1.autoscaling": "autoscaling/v1 horizontalpodautoscalers",
        "ing": "networking.k8s.io/v1 ingresses",
        "netpol": "networking.k8s.io/v1 networkpolicies",
        "crd": "apiextensions.k8s.io/v1 customresourcedefinitions",
        "endpoints": "v1 endpoints",
    }
    for what, meant in expected.items():
        found = await mapper.find(what)
        assert f"{found.api_version} {found.name}" == meant
    assert {"pods", "services", "deployments"} < {each.name for each in await mapper.category("all")}


async def test_an_outage_is_an_error_and_passes(rest: RestClient, kube_server: Server) -> None:
    fault = kube_server.faults.fail(503, verb="get", times=None)
    discovery = DiscoveryClient(rest, aggregated=False)
    with pytest.raises(ServiceUnavailableError):
        await discovery.resources()
    fault.remove()

    assert not (await discovery.resources()).failures


async def test_the_version_of_the_server(rest: RestClient) -> None:
    found = await DiscoveryClient(rest).server_version()

    assert found.number == (1, 36)
    assert found.git_version.startswith("v1.36")

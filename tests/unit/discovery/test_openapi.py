"""OpenAPI documents are fetched on demand, and again when they change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.unit.discovery.network import PLAIN, Network, Reply, discovery_over, page, rest_over, tagged

from masthead._discovery.disk_cache import DiskCache
from masthead._discovery.document_cache import DocumentCache
from masthead._discovery.openapi import OpenApi
from masthead._meta.gvk import GroupVersionKind
from masthead._schema.schema import Schema
from masthead.errors import ArgumentError, DecodeError, NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.discovery.network import Page


def index(**addresses: str) -> dict[str, object]:
    return {"paths": {name: {"serverRelativeURL": address} for name, address in addresses.items()}}


def server(state: str = "H1") -> Network:
    address = f"/openapi/v3/apis/apps/v1?hash={state}"
    pages: dict[str, Page] = {
        "/openapi/v3": tagged(index(**{"apis/apps/v1": address}), f'"{state}"', PLAIN),
        address: page({"openapi": "3.0.0", "state": state}),
    }
    return Network(pages)


async def test_paths_returns_the_urls_of_the_documents() -> None:
    found = await discovery_over(server()).openapi_paths()

    assert found == {"apis/apps/v1": "/openapi/v3/apis/apps/v1?hash=H1"}


async def test_the_index_may_call_itself_plain_text() -> None:
    network = Network({"/openapi/v3": page(index(**{"api/v1": "/x?hash=1"}), "text/plain; charset=utf-8")})

    assert await discovery_over(network).openapi_paths() == {"api/v1": "/x?hash=1"}


async def test_a_document_is_fetched_once_and_each_caller_has_its_own() -> None:
    network = server()
    discovery = discovery_over(network)

    first = await discovery.openapi("apps/v1")
    first["state"] = "spoilt"

    assert await discovery.openapi("apps/v1") == {"openapi": "3.0.0", "state": "H1"}
    assert network.targets == ["/openapi/v3", "/openapi/v3/apis/apps/v1?hash=H1", "/openapi/v3"]
    assert ("If-None-Match", '"H1"') in network.asked[2].headers


async def test_those_who_ask_together_share_one_request() -> None:
    network = server()
    discovery = discovery_over(network)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(discovery.openapi("apps/v1"))

    assert len(network.asked) == 2


async def test_a_changed_document_is_fetched_anew() -> None:
    network = server()
    discovery = discovery_over(network)
    await discovery.openapi("apps/v1")
    network.pages |= server("H2").pages

    assert (await discovery.openapi("apps/v1"))["state"] == "H2"


@pytest.mark.parametrize("status", [301, 404])
async def test_an_address_that_moved_meanwhile_is_looked_up_again(status: int) -> None:
    network = server("H2")
    good = network.pages["/openapi/v3"]

    def once(_: object) -> Reply:
        network.pages["/openapi/v3"] = good
        return page(index(**{"apis/apps/v1": "/openapi/v3/apis/apps/v1?hash=H1"}))

    network.pages["/openapi/v3"] = once
    network.pages["/openapi/v3/apis/apps/v1?hash=H1"] = Reply(status, b"moved")

    assert (await discovery_over(network).openapi("apps/v1"))["state"] == "H2"


async def test_a_deadlock_is_an_error() -> None:
    network = server()
    del network.pages["/openapi/v3/apis/apps/v1?hash=H1"]

    with pytest.raises(NotFoundError):
        await discovery_over(network).openapi("apps/v1")


async def test_a_document_without_a_hash_is_confirmed_by_its_tag() -> None:
    network = Network(
        {
            "/openapi/v3": page(index(**{"api/v1": "/openapi/v3/api/v1"})),
            "/openapi/v3/api/v1": tagged({"state": 1}, '"t1"', PLAIN),
        }
    )
    discovery = discovery_over(network)

    assert await discovery.openapi("v1") == await discovery.openapi("v1") == {"state": 1}
    assert ("If-None-Match", '"t1"') in network.asked[-1].headers


async def test_a_version_without_a_document_is_named_with_its_nearest() -> None:
    discovery = discovery_over(server())

    with pytest.raises(UnknownKindError, match="document for apis/batch/v1; the nearest: apis/apps/v1"):
        await discovery.openapi("batch/v1")
    with pytest.raises(ArgumentError, match="not an API version"):
        await discovery.openapi("")


@pytest.mark.parametrize("address", ["https://evil.example/x", "//evil.example/x", "x", ""])
async def test_no_other_server_is_asked(address: str) -> None:
    network = Network({"/openapi/v3": page(index(**{"api/v1": address}))})

    with pytest.raises(DecodeError, match="another server"):
        await discovery_over(network).openapi("v1")
    assert len(network.asked) == 1


@pytest.mark.parametrize("body", [{"paths": 5}, {"paths": {"api/v1": {}}}, []])
async def test_an_invalid_openapi_index_is_rejected(body: object) -> None:
    with pytest.raises(DecodeError, match="OpenAPI index"):
        await discovery_over(Network({"/openapi/v3": page(body)})).openapi_paths()


async def test_an_invalid_openapi_document_is_rejected() -> None:
    network = server()
    network.pages["/openapi/v3/apis/apps/v1?hash=H1"] = page([])

    with pytest.raises(DecodeError, match="OpenAPI document"):
        await discovery_over(network).openapi("apps/v1")


async def test_the_next_process_fetches_only_what_changed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, server="https://10.0.0.1:6443")
    await discovery_over(server(), cache=cache).openapi("apps/v1")
    network = server()

    assert (await discovery_over(network, cache=cache).openapi("apps/v1"))["state"] == "H1"
    assert network.targets == ["/openapi/v3"]


def with_schema(type_: str) -> Network:
    kinds = [{"group": "apps", "version": "v1", "kind": "Deployment"}]
    schema = {"type": type_, "x-kubernetes-group-version-kind": kinds}
    address = f"/openapi/v3/apis/apps/v1?hash={type_}"
    pages: dict[str, Page] = {
        "/openapi/v3": page(index(**{"apis/apps/v1": address}), PLAIN),
        address: page({"paths": {}, "components": {"schemas": {"io.example.Deployment": schema}}}),
    }
    return Network(pages)


def documents_over(network: Network) -> OpenApi:
    return OpenApi(DocumentCache(rest_over(network), expiry=60, cache=None, now=lambda: 0.0))


async def test_the_schemas_of_a_group_version_are_found_by_kind_and_by_name() -> None:
    definitions = await documents_over(with_schema("object")).definitions("apps/v1")

    found = definitions.of_kind(GroupVersionKind("apps", "v1", "Deployment"))
    assert found is not None
    assert found.type == "object"
    assert definitions.get("io.example.Deployment") is found
    assert definitions.of_kind(GroupVersionKind("apps", "v1", "DaemonSet")) is None


async def test_a_document_is_decoded_again_only_when_it_has_changed() -> None:
    network = with_schema("object")
    documents = documents_over(network)

    first = await documents.definitions("apps/v1")
    assert await documents.definitions("apps/v1") is first
    network.pages.update(with_schema("string").pages)
    changed = await documents.definitions("apps/v1")

    assert changed.get("io.example.Deployment") == Schema(
        type="string", kinds=(GroupVersionKind("apps", "v1", "Deployment"),)
    )


async def test_a_document_without_schemas_has_none() -> None:
    definitions = await documents_over(server()).definitions("apps/v1")

    assert definitions.get("anything") is None


async def test_a_malformed_schema_is_an_error_that_names_the_document() -> None:
    address = "/openapi/v3/apis/apps/v1?hash=1"
    pages: dict[str, Page] = {
        "/openapi/v3": page(index(**{"apis/apps/v1": address}), PLAIN),
        address: page({"components": {"schemas": {"a": {"type": 7}}}}),
    }

    with pytest.raises(DecodeError, match="apis/apps/v1"):
        await documents_over(Network(pages)).definitions("apps/v1")

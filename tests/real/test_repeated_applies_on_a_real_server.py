"""``ctx.apply`` of realistic manifests on a real server: what is not sent again would have changed nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.controller.manifests import REALISTIC, Plain, is_namespaced, title

from masthead import Patch, StatusError, Unstructured
from masthead._controller.applied_configurations import AppliedConfigurations, Configuration
from masthead._controller.ownership import prepare_configuration
from masthead.aio import Client
from masthead.api.core.v1 import Namespace
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.real_server import RealServer

    from masthead.aio import ResourceClient

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

UNPROVEN = {"LimitRange v1", "CertificateSigningRequest certificates.k8s.io/v1"}
"""Objects that do not prove by themselves what was applied: derived defaults, and no managed fields at all."""


@pytest.fixture
async def client(real_server: RealServer) -> AsyncIterator[Client]:
    config = Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    async with Client(config) as made:
        yield made


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace of its own: other tests have objects of the same names in ``default``."""
    made = await client.core_v1.namespaces.create(Namespace.new("", generate_name="repeated-applies-"))
    yield made.metadata.name
    with suppress(StatusError):
        await client.core_v1.namespaces.delete(made.metadata.name)


@pytest.mark.parametrize("manifest", REALISTIC, ids=map(title, REALISTIC))
async def test_the_second_apply_changes_nothing_and_is_not_needed(
    client: Client, namespace: str, manifest: Plain
) -> None:
    namespace = namespace if is_namespaced(manifest) else ""
    found = await client.mapper.kind(Unstructured.from_dict(manifest).gvk)
    resource = client.dynamic(found.gvr, namespace=namespace or None)
    given = Unstructured.from_dict(in_namespace(manifest, namespace))
    plain = prepare_configuration(given, None, namespace)
    wanted, config = Unstructured.from_dict(plain), Configuration(plain, given.gvk, "things", "operator")
    memory = AppliedConfigurations()
    name = wanted.metadata.name
    try:
        applied = await resource.apply(wanted, field_manager="operator")
        memory.remember(config, applied, is_creation=True)
        live = await resource.get(name)
        assert memory.covers(config, live)
        assert AppliedConfigurations().covers(config, live) is (title(manifest) not in UNPROVEN)
        again = await resource.apply(wanted, field_manager="operator", force=True)
        assert without_managers(again) == without_managers(live)
    finally:
        await remove(resource, name)


def in_namespace(manifest: Plain, namespace: str) -> Plain:
    """A manifest whose Event is about an object of the same namespace, as the server demands."""
    moved: Plain = {
        field: {**manifest[field], "namespace": namespace}
        for field in ("involvedObject", "regarding")
        if field in manifest
    }
    return {**manifest, **moved}


def without_managers(obj: Any) -> Plain:
    """An object without what others write to it."""
    plain: Plain = obj.to_dict()
    plain.pop("status", None)
    for field in ("managedFields", "resourceVersion"):
        plain["metadata"].pop(field, None)
    return plain


async def remove(resource: ResourceClient[Any], name: str) -> None:
    with suppress(StatusError):
        await resource.delete(name, grace_period_seconds=0, propagation_policy="Background")
        await resource.patch(name, Patch.merge({"metadata": {"finalizers": None}}))

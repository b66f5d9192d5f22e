"""Conversions between versions of a custom resource."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.webhook.serving import certificates  # noqa: F401 - the certificates are made once

import masthead
from masthead._webhook.conversion_handler import ConversionHandler
from masthead._webhook.conversions import Converters
from masthead.errors import ArgumentError, ConfigError, StatusError
from masthead.meta import Struct
from masthead.testing import Environment, in_virtual_time
from masthead.webhook import ConversionError, ConversionSpec

GROUP = "conversions.example.com"


class OldSpec(Struct):
    container: str


class OldSite(masthead.CustomResource, group=GROUP, version="v1alpha1", kind="Site", storage=False):
    spec: OldSpec


class BetaSpec(Struct):
    picture: str


class BetaSite(masthead.CustomResource, group=GROUP, version="v1beta1", kind="Site", storage=False):
    spec: BetaSpec


class Spec(Struct):
    image: str
    replicas: int = 1


class Site(masthead.CustomResource, group=GROUP, version="v1"):
    spec: Spec


REPLICAS = f"{GROUP}/replicas"


def upgrade(old: OldSite) -> Site:
    if old.spec.container == "broken":
        raise ConversionError("there is no such container")
    annotations = dict(old.metadata.annotations)
    replicas = int(annotations.pop(REPLICAS, "1"))
    new = Site(metadata=old.metadata, spec=Spec(image=old.spec.container, replicas=replicas))
    new.metadata.annotations = annotations
    return new


def downgrade(site: Site) -> OldSite:
    annotations = {**site.metadata.annotations, REPLICAS: str(site.spec.replicas)}
    return OldSite.new(annotations=annotations, spec=OldSpec(container=site.spec.image))


def to_beta(site: Site) -> BetaSite:
    return BetaSite.new(spec=BetaSpec(picture=site.spec.image))


async def from_beta(site: BetaSite) -> Site:
    return Site.new(spec=Spec(image=site.spec.picture))


SPECS = [
    ConversionSpec(OldSite, Site, upgrade),
    ConversionSpec(Site, OldSite, downgrade),
    ConversionSpec(Site, BetaSite, to_beta),
    ConversionSpec(BetaSite, Site, from_beta),
]
METADATA = {
    "name": "a",
    "namespace": "shop",
    "uid": "7",
    "labels": {"x": "y"},
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


class Calls:
    """Calls functions on the loop, as `FunctionCalls` does, without threads."""

    async def call(self, function: Any, *arguments: object, is_async: bool, **_: object) -> object:
        returned = function(*arguments)
        return await returned if is_async else returned


def convert(target: str, *objects: dict[str, Any], specs: list[ConversionSpec] = SPECS) -> Any:
    request = {"uid": "1", "desiredAPIVersion": f"{GROUP}/{target}", "objects": objects}
    body = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
    handler = ConversionHandler(Converters(specs), Calls())  # type: ignore[arg-type]
    return json.loads(asyncio.run(handler.respond(body.encode(), 5)))["response"]


def site(version: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Site", "metadata": {**METADATA, **metadata}, "spec": spec}


def test_objects_are_converted_in_their_order() -> None:
    first, second = site("v1alpha1", {"container": "a"}), site("v1alpha1", {"container": "b"}, name="b", uid="8")
    response = convert("v1", first, second)
    assert response["result"] == {"status": "Success"}
    assert [obj["spec"]["image"] for obj in response["convertedObjects"]] == ["a", "b"]
    assert response["convertedObjects"][0]["metadata"] == METADATA
    assert response["convertedObjects"][0]["apiVersion"] == f"{GROUP}/v1"


def test_versions_without_a_direct_conversion_go_through_the_storage_version() -> None:
    [converted] = convert("v1beta1", site("v1alpha1", {"container": "a"}))["convertedObjects"]
    assert converted["apiVersion"] == f"{GROUP}/v1beta1"
    assert converted["spec"] == {"picture": "a"}
    assert converted["metadata"] == METADATA


def test_a_conversion_there_and_back_loses_nothing() -> None:
    original = site("v1", {"image": "a", "replicas": 3})
    [older] = convert("v1alpha1", original)["convertedObjects"]
    assert older["metadata"]["annotations"] == {REPLICAS: "3"}
    assert convert("v1", older)["convertedObjects"] == [original]


def test_objects_of_the_wanted_version_are_returned() -> None:
    original = site("v1", {"image": "a"})
    assert convert("v1", original)["convertedObjects"] == [original]


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (site("v1alpha1", {"container": "broken"}), "shop/a: there is no such container"),
        (site("v1alpha1", {"container": 3}), "shop/a: "),
        (site("v9", {}), "from v9 to v1 is declared"),
        ({"apiVersion": "other.example.com/v1", "kind": "Site"}, "cannot be converted"),
        ({}, "an object without a name"),
        ({"metadata": "text"}, "an object without a name"),
    ],
    ids=["raised", "type", "version", "group", "empty", "metadata"],
)
def test_errors_name_the_object(obj: dict[str, Any], message: str) -> None:
    response = convert("v1", site("v1alpha1", {"container": "a"}), obj)
    assert "convertedObjects" not in response
    assert response["result"]["status"] == "Failure"
    assert message in response["result"]["message"]


@pytest.mark.parametrize(
    "result", [None, Site.new("other", spec=Spec(image="a")), OldSite.new("a", spec=OldSpec(container="a"))]
)
def test_wrong_results_are_refused(result: Any) -> None:
    specs = [ConversionSpec(OldSite, Site, lambda _: result), ConversionSpec(Site, OldSite, downgrade)]
    response = convert("v1", site("v1alpha1", {"container": "a"}), specs=specs)
    assert response["result"]["status"] == "Failure"


def test_many_failures_are_summarized() -> None:
    broken = [site("v1alpha1", {"container": "broken"}, name=f"s{number}") for number in range(20)]
    assert convert("v1", *broken)["result"]["message"].endswith("and 15 more objects")


def test_every_served_version_is_convertible() -> None:
    with pytest.raises(ConfigError, match="no conversion from v1 to v1alpha1"):
        Converters(SPECS[:1])
    with pytest.raises(ConfigError, match="0 storage versions"):
        Converters([ConversionSpec(OldSite, BetaSite, to_beta), ConversionSpec(BetaSite, OldSite, to_beta)])


@pytest.mark.parametrize(
    ("source", "target", "function"),
    [(Site, Site, upgrade), (masthead.CustomResource, Site, upgrade), (OldSite, Site, Spec), (OldSite, Site, convert)],
    ids=["same", "base", "class", "arguments"],
)
def test_other_declarations_are_refused(source: Any, target: Any, function: Any) -> None:
    app = masthead.Manager()
    with pytest.raises(ArgumentError):
        app.convert(source, target)(function if function is not convert else (lambda: None))


@in_virtual_time
async def test_the_server_converts_through_the_manager() -> None:
    app = masthead.Manager("converter")
    app.convert(OldSite, Site)(upgrade)
    app.convert(Site, OldSite)(downgrade)
    async with Environment(app) as env:
        old, new = env.client.resource(OldSite, "default"), env.client.resource(Site, "default")
        created = await old.create(OldSite.new("a", spec=OldSpec(container="web:1")))
        assert created.spec.container == "web:1"
        found = await new.get("a")
        assert found.spec.image == "web:1"
        found.spec.replicas = 4
        await new.update(found)
        assert (await old.get("a")).metadata.annotations == {REPLICAS: "4"}
        listed = await old.list()
        assert [item.spec.container for item in listed] == ["web:1"]
        with pytest.raises(StatusError, match="there is no such container"):
            await old.create(OldSite.new("b", spec=OldSpec(container="broken")))
        await env.wait_for_idle()
        assert env.missing_permissions == []

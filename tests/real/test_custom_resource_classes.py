"""Classes of custom resources on a real kube-apiserver: it accepts and keeps their definitions, and agrees about
objects.

``MASTHEAD_RANDOM_CLASSES`` is the number of random classes, ``MASTHEAD_RANDOM_SEED`` chooses others.
"""

from __future__ import annotations

import enum
import itertools
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from tests.unit.customresource.making import causes_of, local_causes_of
from tests.unit.customresource.random_classes import RandomModule
from tests.unit.customresource.round_trip import generated_class, skeleton_of_class, skeleton_of_definition

import masthead
from masthead import CustomResource, Quantity
from masthead._customresource.rendering import with_integers
from masthead.api.core.v1 import EnvVar, PodTemplateSpec, ResourceRequirements
from masthead.crd import Field, PrinterColumn, Rule
from masthead.errors import UnprocessableError
from masthead.meta import JSON, Condition, IntOrString, LabelSelector, Struct, Time, Unstructured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_server import RealServer

    from masthead._sansio.warnings import ServerWarning

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

CLASSES = int(os.environ.get("MASTHEAD_RANDOM_CLASSES", "6"))
FIRST = int(os.environ.get("MASTHEAD_RANDOM_SEED", "3")) * 1000
OBJECTS = 4
Plain = dict[str, Any]


class Protocol(enum.StrEnum):
    HTTP = "http"
    HTTPS = "https"


class Port(Struct):
    """A port."""

    number: Annotated[int, Field(minimum=1, maximum=65535, format="int32")]
    protocol: Protocol = Protocol.HTTP
    target: IntOrString | None = None


class Cache(Struct):
    """How pages are cached."""

    enabled: bool = True
    seconds: Annotated[float, Field(exclusive_minimum=0)] = 60


class WebsiteSpec(Struct, rules=[Rule("self.replicas > 0 || self.paused", message="to have no replicas, pause it")]):
    """What the site shows.

    Attributes:
        image: The image that is served.
    """

    image: Annotated[str, Field(min_length=1, max_length=200, pattern="^[a-z0-9./:-]+$")]
    owner: Annotated[str | None, Field(immutable=True)] = None
    replicas: Annotated[int, Field(minimum=0, maximum=100)] = 1
    paused: bool = False
    tier: Literal["small", "large"] = "small"
    ports: Annotated[list[Port], Field(list_type="map", list_map_keys=["number", "protocol"], max_items=10)] = [
        Port(number=80)
    ]
    hosts: Annotated[list[str], Field(list_type="set", max_items=5)] = []
    env: list[EnvVar] = []
    memory: Quantity = Quantity("128Mi")
    cache: Cache = Cache()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    template: PodTemplateSpec | None = None
    config: dict[str, JSON] = {}
    extra: JSON | None = None
    nothing: Annotated[str | None, Field(nullable=True)] = None
    object: Unstructured | None = None
    since: Time | None = None


class WebsiteStatus(Struct):
    replicas: int = 0
    selector: str = ""
    conditions: list[Condition] = []


class Website(
    CustomResource,
    group="classes.example.com",
    version="v1",
    short_names=["ws"],
    categories=["web"],
    columns={
        "Replicas": ".spec.replicas",
        "Ready": '.status.conditions[?(@.type=="Ready")].status',
        "Image": PrinterColumn(".spec.image", priority=1),
    },
    scale=("spec.replicas", "status.replicas", "status.selector"),
    selectable_fields=["spec.tier"],
    rules=[Rule("self.metadata.name.size() <= 40", message="the name is too long")],
):
    """A website."""

    spec: WebsiteSpec
    status: WebsiteStatus


class WebsiteV1Beta1(
    CustomResource,
    group="classes.example.com",
    version="v1beta1",
    kind="Website",
    short_names=["ws"],
    categories=["web"],
    storage=False,
    deprecated="classes.example.com/v1beta1 Website is deprecated; use v1",
):
    spec: Annotated[WebsiteSpec, Field(preserve_unknown=True)]


class Palette(CustomResource, group="classes.example.com", version="v1alpha1", namespaced=False, plural="palettae"):
    colors: dict[str, Annotated[str, Field(format="hexcolor")]]
    default: str | None


@pytest.fixture(scope="module")
def warnings() -> list[str]:
    """What the server warns of."""
    return []


@pytest.fixture(scope="module")
def client(real_server: RealServer, warnings: list[str]) -> Iterator[masthead.Client]:
    config = masthead.Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)

    def note(warning: ServerWarning) -> None:
        warnings.append(warning.text)

    with masthead.Client(config, on_warning=note) as made:
        yield made


@pytest.fixture(scope="module")
def installed(client: masthead.Client) -> masthead.Client:
    """The client, once the server serves websites."""
    client.install_crds(Website, WebsiteV1Beta1)
    # The dynamic client finds kinds by discovery, which is behind the definitions.
    for kind in (Website, WebsiteV1Beta1):
        client.wait_for_kind(kind)
    return client


def stored_definition(client: masthead.Client, definition: Any) -> Plain:
    """A definition as the server stored it, without what the server adds."""
    found = client.apiextensions_v1.custom_resource_definitions().get(definition.metadata.name)
    data: Plain = found.to_dict()
    conversion = data["spec"].pop("conversion")
    assert conversion == {"strategy": "None"}
    return {"metadata": {"name": data["metadata"]["name"]}, "spec": with_integers(data["spec"])}


def expected_definition(definition: Any) -> Plain:
    data: Plain = definition.to_dict()
    return {"metadata": data["metadata"], "spec": with_integers(data["spec"])}


@pytest.mark.parametrize("classes", [(Website, WebsiteV1Beta1), (Palette,)], ids=["Website", "Palette"])
def test_the_server_keeps_the_definition_as_it_is(
    classes: tuple[type[CustomResource], ...], client: masthead.Client, warnings: list[str]
) -> None:
    warnings.clear()
    client.install_crds(*classes)
    (definition,) = masthead.crd.crds(*classes)

    assert warnings == []
    assert stored_definition(client, definition) == expected_definition(definition)
    assert not client.install_crds(*classes).has_changes


def test_the_server_and_the_class_agree_about_defaults(installed: masthead.Client) -> None:
    site = Website.new("defaults", spec=WebsiteSpec(image="nginx"))
    sites = installed.resource(Website, namespace="default")
    stored = sites.create(site, field_validation="Strict")

    assert stored.spec == site.spec
    assert stored.spec.to_dict()["ports"] == [{"number": 80, "protocol": "http"}]
    assert stored.spec.to_dict()["cache"] == {"enabled": True, "seconds": 60}
    assert sites.get("defaults") == stored


def test_a_whole_object_may_be_embedded(installed: masthead.Client) -> None:
    site = Website.new("embedding", spec=WebsiteSpec(image="nginx", object=Unstructured.from_dict(POD)))
    stored = installed.resource(Website, namespace="default").create(site)

    assert stored.spec.object is not None
    assert stored.spec.object.to_dict() == POD
    assert stored.spec.object == site.spec.object


_numbers = itertools.count()
POD: Plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"a": "b"}}}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"image": ""},
        {"image": "Nginx"},
        {"image": "nginx", "replicas": 101},
        {"image": "nginx", "replicas": 0},
        {"image": "nginx", "replicas": 0, "paused": True},
        {"image": "nginx", "tier": "huge"},
        {"image": "nginx", "ports": [{"protocol": "http"}]},
        {"image": "nginx", "ports": [{"number": 80}, {"number": 80}]},
        {"image": "nginx", "ports": [{"number": 80}, {"number": 80, "protocol": "https"}]},
        {"image": "nginx", "ports": [{"number": 70000}]},
        {"image": "nginx", "hosts": ["a", "a"]},
        {"image": "nginx", "hosts": list("abcdef")},
        {"image": "nginx", "memory": "lots"},
        {"image": "nginx", "cache": {"seconds": 0}},
        {"image": "nginx", "env": [{"value": "x"}]},
        {"image": "nginx", "template": {"spec": {"containers": [{"name": "a", "ports": [{}]}]}}},
        {"image": "nginx", "nothing": None, "config": {"a": [1, {"b": None}]}, "extra": [1, "x"]},
        {"image": "nginx", "object": {"kind": "Pod"}},
        {"image": "nginx", "since": "yesterday"},
    ],
    ids=str,
)
def test_the_server_and_the_class_agree_about_what_is_invalid(spec: Plain, installed: masthead.Client) -> None:
    site = {
        "apiVersion": "classes.example.com/v1",
        "kind": "Website",
        "metadata": {"name": f"case-{next(_numbers)}"},
        "spec": spec,
    }
    sites = installed.dynamic("classes.example.com/v1", "Website", namespace="default")

    found = causes_of(sites, site)
    if "object" in spec:  # the metadata of embedded objects is checked by the server alone
        assert found
    else:
        assert found == local_causes_of(site)


def test_rules_about_changes_hold_on_the_server(installed: masthead.Client) -> None:
    sites = installed.resource(Website, namespace="default")
    site = sites.create(Website.new("changing", spec=WebsiteSpec(image="nginx")))
    site.spec.owner = "me"
    site = sites.update(site)

    for owner in ("you", None):
        changed = site.copy()
        changed.spec.owner = owner
        with pytest.raises(UnprocessableError, match="immutable"):
            sites.update(changed)
        assert [each.message for each in masthead.crd.validate(changed, old=site)]


def test_status_scale_selectors_columns_and_versions_work(installed: masthead.Client) -> None:
    sites = installed.resource(Website, namespace="default")
    site = sites.create(Website.new("whole", spec=WebsiteSpec(image="nginx", tier="large")))
    site.status.selector = "app=web"
    masthead.meta.set_condition(site.status.conditions, Condition(type="Ready", status="True", reason="Up"))
    site = sites.update_status(site)

    assert site.status.conditions[0].message == ""
    assert installed.scales("default").get("websites.classes.example.com", "whole").status.selector == "app=web"
    assert [each.metadata.name for each in sites.list(field_selector="spec.tier=large")] == ["whole"]
    older = installed.resource(WebsiteV1Beta1, namespace="default").get("whole")
    assert (older.spec.image, type(older)) == ("nginx", WebsiteV1Beta1)
    (table,) = installed.tables("websites.classes.example.com", namespace="default", wide=True)
    assert table.text.split()[:5] == ["NAME", "REPLICAS", "READY", "IMAGE", "AGE"]


@pytest.mark.timeout(120 + 5 * CLASSES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + CLASSES))
def test_a_random_class(seed: int, client: masthead.Client, warnings: list[str], tmp_path: Path) -> None:
    module = RandomModule(seed, group="randomclasses.example.com")
    cls = module.load()
    definition = cls.to_crd()
    warnings.clear()
    client.install_crds(cls)
    stored = stored_definition(client, definition)

    assert warnings == []
    assert stored == expected_definition(definition)
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    made = generated_class({**head, **stored}, tmp_path)
    assert skeleton_of_class(made) == skeleton_of_definition(stored)

    things = client.resource(cls, namespace="default")
    for number, (spec, is_bad) in enumerate(
        [(each, False) for each in module.objects(OBJECTS)]
        + [(each, True) for each in module.objects(OBJECTS, bad=True)]
    ):
        gvk = {"apiVersion": cls.GVK.api_version, "kind": module.kind}
        thing = cls.from_dict({**gvk, "metadata": {"name": f"thing-{number}"}, "spec": spec})
        found = causes_of(things, thing)
        assert found == local_causes_of(thing)
        if not found:
            assert things.get(f"thing-{number}").spec == thing.spec
        assert is_bad or not found
    client.apiextensions_v1.custom_resource_definitions().delete(definition.metadata.name)

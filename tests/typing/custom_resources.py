"""What type checkers see of custom resources. Checked by mypy and pyright, never run."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Literal, assert_type

import masthead
import masthead.aio
from masthead import CustomResource, Quantity
from masthead.api.apiextensions.v1 import CustomResourceDefinition
from masthead.api.core.v1 import PodTemplateSpec
from masthead.crd import Field, PrinterColumn, Rule, ScaleSubresource
from masthead.manifests import ApplyResult
from masthead.meta import JSON, Condition, IntOrString, ObjectMeta, StatusCause, Struct, Time, field


class Mode(enum.StrEnum):
    FAST = "fast"


class SiteSpec(Struct, rules=[Rule("self.replicas > 0", message="none")]):
    image: str
    replicas: int = 1
    ratio: Annotated[float, Field(minimum=0, rules=["self < 5"])] = 0.5
    mode: Mode = Mode.FAST
    protocol: Literal["http", "https"] = "http"
    since: Time | None = None
    memory: Quantity = Quantity("1Gi")
    port: IntOrString = 80
    hosts: list[str] = []
    labels: dict[str, str] = {}
    other: PodTemplateSpec = field(default_factory=PodTemplateSpec)
    template: PodTemplateSpec = PodTemplateSpec()
    extra: JSON = None
    wire: str = field(name="onTheWire", default="")


class SiteStatus(Struct):
    ready: bool = False
    conditions: list[Condition] = []


class Site(
    CustomResource,
    group="example.com",
    version="v1",
    short_names=["st"],
    columns={"Replicas": ".spec.replicas", "Image": PrinterColumn(".spec.image", priority=1)},
    scale=ScaleSubresource(".spec.replicas", ".status.replicas"),
):
    spec: SiteSpec
    status: SiteStatus


class Book(CustomResource, group="example.com", version="v1"):
    spec: SiteSpec


class Page(CustomResource, group="example.com", version="v1"):
    text: str = ""


def reading(site: Site) -> None:
    assert_type(site.spec, SiteSpec)
    assert_type(site.spec.replicas, int)
    assert_type(site.spec.image, str)
    assert_type(site.spec.ratio, float)
    assert_type(site.spec.mode, Mode)
    assert_type(site.spec.since, datetime | None)
    assert_type(site.spec.memory, Quantity)
    assert_type(site.spec.port, int | str)
    assert_type(site.spec.hosts, list[str])
    assert_type(site.status.conditions, list[Condition])
    assert_type(site.metadata, ObjectMeta)
    assert_type(site.copy(), Site)
    assert_type(Site.from_json(b""), Site)


def making() -> None:
    assert_type(SiteSpec(image="nginx", replicas=2, labels={"a": "b"}), SiteSpec)
    assert_type(Site.new("blog", namespace="web", spec=SiteSpec(image="nginx")), Site)
    assert_type(Site.new("blog", spec={"image": "nginx"}, status=SiteStatus(ready=True)), Site)
    assert_type(Site.new(generate_name="blog-", labels={"a": "b"}, annotations={"a": "b"}), Site)
    assert_type(Book.new("book", spec=SiteSpec(image="nginx")), Book)
    assert_type(Page.new("page", namespace="web"), Page)
    assert_type(Page(metadata=ObjectMeta(name="page"), text="x"), Page)
    assert_type(Site(spec=SiteSpec(image="nginx"), status=SiteStatus()), Site)


def definitions() -> None:
    assert_type(Site.to_crd(), CustomResourceDefinition)
    assert_type(masthead.crd.crds(Site, masthead), list[CustomResourceDefinition])
    assert_type(masthead.crd.validate(Site.new("blog")), list[StatusCause])


def blocking(client: masthead.Client) -> None:
    assert_type(client.install_crds(Site, Book), ApplyResult)
    assert_type(client.resource(Site, namespace="web").get("blog"), Site)
    assert_type(masthead.SharedInformerFactory(client).informer(Site).lister.list()[0].spec.replicas, int)


async def asynchronous(client: masthead.aio.Client) -> None:
    assert_type(await client.install_crds(Site), ApplyResult)
    assert_type(await client.resource(Site, namespace="web").get("blog"), Site)


def mistakes(site: Site) -> None:
    SiteSpec()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    SiteSpec(image="x", replicsa=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    SiteSpec(image=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    site.spec.replicas = "two"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    site.spec.imgae = "x"  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    Site.new("x", sepc={})  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    Site.new("x", spec=SiteStatus())  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Book.new("x", status=SiteStatus())  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Field(minimun=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Field(list_type="bag")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

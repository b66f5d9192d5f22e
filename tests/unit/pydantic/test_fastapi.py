"""API types in FastAPI: bodies, responses and the OpenAPI document, also with blocking endpoints."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import httpx
import pytest
from fastapi import Body, FastAPI
from fastapi.exceptions import ResponseValidationError
from pydantic import BaseModel, Field

from masthead import Client, ObjectList, Unstructured
from masthead.api.core.v1 import ConfigMap, Pod, Service

if TYPE_CHECKING:
    from masthead.server import Server

T = TypeVar("T")
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "app"}]}}
Known = Annotated[Pod | Service, Field(discriminator="kind")]


class Page(BaseModel, Generic[T]):
    items: list[T]


app = FastAPI()


@app.post("/pod", response_model_exclude_none=True)
async def echo_pod(pod: Annotated[Pod, Body()]) -> Pod:
    return pod


@app.post("/any")
async def echo_any(thing: Annotated[Unstructured, Body()]) -> Unstructured:
    return thing


@app.post("/list")
async def echo_list(pods: list[Pod]) -> list[Pod]:
    return pods


@app.post("/listed")
async def echo_listed(pods: ObjectList[Pod]) -> ObjectList[Pod]:
    return pods


@app.post("/page")
async def echo_page(page: Page[Pod]) -> Page[Pod]:
    return page


@app.post("/known")
async def echo_known(one: Annotated[Known, Body()]) -> Known:
    return one


@app.post("/names", response_model_include={"metadata"})
async def include_metadata(pod: Annotated[Pod, Body()]) -> Pod:
    return pod


@app.post("/public", response_model_exclude={"spec": {"containers": {"__all__": {"name"}}}})
async def exclude_names(pod: Annotated[Pod, Body()]) -> Pod:
    return pod


@app.post("/dict")
async def answer_dict(pod: Annotated[Pod, Body()]) -> dict[str, Any]:
    return {"pod": pod}


@app.get("/wrong", response_model=Pod)
async def answer_wrong() -> Service:
    return Service.new("web")


def http_to(application: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://app")


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        ("/pod", POD, POD),
        ("/pod", {"spec": {"later": None}}, {"apiVersion": "v1", "kind": "Pod", "spec": {"later": None}}),
        ("/any", {"kind": "Widget", "size": 1}, {"apiVersion": "", "kind": "Widget", "metadata": {}, "size": 1}),
        ("/list", [POD, POD], [POD, POD]),
        ("/listed", {"items": [POD]}, {"apiVersion": "v1", "kind": "PodList", "items": [POD]}),
        ("/page", {"items": [POD]}, {"items": [POD]}),
        ("/known", POD, POD),
        ("/names", POD, {"metadata": {"name": "web"}}),
        ("/public", POD, {**POD, "spec": {"containers": [{}]}}),
        ("/dict", POD, {"pod": POD}),
    ],
)
async def test_bodies_and_responses_have_the_form_of_the_api(path: str, body: object, answer: object) -> None:
    async with http_to(app) as http:
        response = await http.post(path, json=body)

    assert (response.status_code, response.json()) == (200, answer)


async def test_an_invalid_item_of_a_body_is_named() -> None:
    async with http_to(app) as http:
        response = await http.post("/list", json=[POD, {"spec": {"nodeName": 1}}])

    assert response.status_code == 422
    assert response.json()["detail"] == [
        {
            "type": "decode_error",
            "loc": ["body", 1, "spec", "nodeName"],
            "msg": "expected a string, got an integer (1)",
            "input": 1,
        }
    ]


async def test_a_response_of_another_type_is_an_error_of_the_application() -> None:
    async with http_to(app) as http:
        with pytest.raises(ResponseValidationError, match="expected an object, got a Service"):
            await http.get("/wrong")


async def test_the_document_has_each_type_once_for_requests_and_responses() -> None:
    async with http_to(app) as http:
        document = (await http.get("/openapi.json")).json()

    operation = document["paths"]["/pod"]["post"]
    reference = {"$ref": "#/components/schemas/Pod"}
    assert document["openapi"].startswith("3.1")
    assert operation["requestBody"]["content"]["application/json"]["schema"] == reference
    assert operation["responses"]["200"]["content"]["application/json"]["schema"] == reference
    names = document["components"]["schemas"].keys()
    assert {"Pod", "PodSpec", "Container", "Page_Pod_", "ObjectList_Pod_", "Unstructured"} <= names
    assert not [name for name in names if name.endswith(("-Input", "-Output"))]
    choice = document["paths"]["/known"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert choice["discriminator"]["mapping"] == {
        "Pod": "#/components/schemas/Pod",
        "Service": "#/components/schemas/Service",
    }


async def test_blocking_endpoints_use_the_blocking_client_in_threads(kube_server: Server) -> None:
    threads: set[int] = set()
    blocking = FastAPI()
    with Client(kubeconfig=kube_server.kubeconfig()) as client:
        maps = client.core_v1.config_maps("default")

        @blocking.post("/maps")
        def create(given: Annotated[ConfigMap, Body()]) -> ConfigMap:
            threads.add(threading.get_ident())
            return maps.create(given)

        @blocking.get("/maps")
        def listed() -> ObjectList[ConfigMap]:
            return maps.list()

        @blocking.get("/items")
        def items() -> list[ConfigMap]:
            return maps.list().items

        async with http_to(blocking) as http:
            created = await http.post("/maps", json={"metadata": {"name": "a"}, "data": {"colour": "red"}})
            found = (await http.get("/maps")).json()["items"]
            again = (await http.get("/items")).json()

    assert created.json()["data"] == {"colour": "red"}
    assert "a" in {each["metadata"]["name"] for each in found}
    assert again == [{"apiVersion": "v1", "kind": "ConfigMap", **each} for each in found]
    assert threads.isdisjoint({threading.get_ident()})

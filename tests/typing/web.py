"""Web frameworks and encoders, for type checkers."""

import json
from typing import Annotated, Generic, TypeVar, assert_type

import orjson
from fastapi import Body, FastAPI
from pydantic import BaseModel, TypeAdapter

import masthead
from masthead.api.core.v1 import Pod, PodSpec
from masthead.meta import Quantity, json_default

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """A generic model."""

    items: list[T]
    memory: Quantity = Quantity("1Gi")


app = FastAPI()


@app.get("/pods")
def pods(client: masthead.Client) -> list[Pod]:
    """The items of a list."""
    return client.core_v1.pods().list().items


@app.get("/list")
async def listed(client: masthead.aio.Client) -> masthead.ObjectList[Pod]:
    """A whole list."""
    return await client.core_v1.pods().list()


@app.get("/cached")
async def cached(informer: masthead.aio.SharedInformer[Pod]) -> list[Pod]:
    """From a cache."""
    return informer.lister.list()


@app.post("/pods")
async def create(pod: Annotated[Pod, Body()]) -> Page[Pod]:
    """A body, and a generic model."""
    return Page(items=[pod])


def check_models(page: Page[Pod], pod: Pod) -> None:
    """Fields of models have their types."""
    assert_type(page.items[0].spec, PodSpec)
    assert_type(TypeAdapter(list[Pod]).validate_json("[]"), list[Pod])
    assert_type(json.dumps(pod, default=json_default), str)
    assert_type(orjson.dumps(pod, default=json_default), bytes)

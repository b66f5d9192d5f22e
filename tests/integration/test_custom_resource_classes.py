"""A class of a custom resource, through both façades: installed, written, watched and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest

from masthead import CustomResource
from masthead.crd import Field
from masthead.errors import UnprocessableError
from masthead.meta import Struct

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster


class LampSpec(Struct):
    watts: Annotated[int, Field(minimum=1)] = 40
    room: str


class LampStatus(Struct):
    is_on: bool = False


class Lamp(CustomResource, group="lamps.example.com", version="v1"):
    spec: LampSpec
    status: LampStatus


async def test_a_class_is_installed_and_used(cluster: Cluster, client: Any, namespace: str) -> None:
    del cluster
    await client.install_crds(Lamp)
    lamps = client.resource(Lamp, namespace=namespace)

    made = await lamps.create(Lamp.new("desk", spec=LampSpec(room="study")))
    assert (type(made), made.spec.watts) == (Lamp, 40)
    made.status.is_on = True
    assert (await lamps.update_status(made)).status.is_on
    made = await lamps.get("desk")
    made.spec.watts = 0
    with pytest.raises(UnprocessableError, match="greater than or equal to 1"):
        await lamps.update(made)
    listed = await lamps.list()
    assert (type(listed), [each.spec.room for each in listed]) == (Lamp.LIST, ["study"])
    assert not (await client.install_crds(Lamp)).has_changes

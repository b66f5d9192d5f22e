"""The managedFields of the objects that every cluster has are what the field manager makes of them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from masthead_server.bootstrap.network import ApiServerAddress
from masthead_server.bootstrap.objects import bootstrap_objects
from masthead_server.field_managers.field_manager import field_manager_of
from masthead_server.resources.catalog import Catalog

if TYPE_CHECKING:
    from masthead_server.bootstrap.objects import BootstrapObject

NOW = "2026-01-01T00:00:00Z"
OBJECTS = list(bootstrap_objects(ApiServerAddress("192.0.2.1", 6443, "10.0.0.1", "10.0.0.0/24"), NOW))
OF_THE_SERVER = {"Service": ("clusterIPs", "ipFamilies")}
"""What the server adds to an object after its managers have been written down."""


def title(each: BootstrapObject) -> str:
    return f"{each.resource.resource} {each.content['metadata']['name']}"


@pytest.mark.parametrize("wanted", OBJECTS, ids=title)
def test_own_entries_are_those_of_the_field_manager(wanted: BootstrapObject) -> None:
    served = Catalog.builtin().require(wanted.resource)
    content: dict[str, Any] = copy.deepcopy(wanted.content)
    content.pop("status", None)
    for field in OF_THE_SERVER.get(served.kind, ()):
        del content["spec"][field]
    if "aggregationRule" in content:
        content["rules"] = None
    sent = {"kind": served.kind, "apiVersion": served.api_version, **content}
    found, _ = served.codec.decode(sent)

    field_manager_of(served, "").update(None, found, wanted.manager, NOW)

    own = [entry for entry in wanted.entries(NOW) if entry["operation"] == "Update"]
    assert found["metadata"].get("managedFields", []) == own

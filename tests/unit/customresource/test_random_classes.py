"""Random classes: their definitions are structural, and their objects are the same here and on a server.

``MASTHEAD_RANDOM_CLASSES`` is the number of classes, ``MASTHEAD_RANDOM_SEED`` the first seed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.customresource.making import causes_of, local_causes_of
from tests.unit.customresource.random_classes import RandomModule

import masthead
from masthead._schema.schema import Schema
from masthead._schema.structural import structural_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

CLASSES = int(os.environ.get("MASTHEAD_RANDOM_CLASSES", "25"))
FIRST = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1")) * 1000
OBJECTS = 4
SEEDS = range(FIRST, FIRST + CLASSES)


@pytest.fixture(scope="module")
def client() -> Iterator[masthead.Client]:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as made:
        yield made


def an_object(module: RandomModule, cls: Any, number: int, spec: dict[str, Any]) -> Any:
    head = {"apiVersion": cls.GVK.api_version, "kind": module.kind, "metadata": {"name": f"thing-{number}"}}
    return cls.from_dict({**head, "spec": spec})


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_class(seed: int, client: masthead.Client) -> None:
    module = RandomModule(seed)
    cls = module.load()
    schema = Schema.from_plain(cls.to_crd().to_dict()["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    assert structural_errors(schema, "") == []
    assert cls.to_crd().to_yaml() == cls.to_crd().to_yaml()

    client.install_crds(cls)
    things = client.resource(cls, namespace="default")
    for number, spec in enumerate(module.objects(OBJECTS)):
        thing = an_object(module, cls, number, spec)
        assert thing.spec.to_dict() == spec
        assert masthead.crd.validate(thing) == []
        stored = things.create(thing, field_validation="Strict")
        # The server sets the defaults that the class reads.
        assert stored.spec == thing.spec
        assert masthead.crd.validate(stored) == []
        assert stored.copy() == stored

    for number, spec in enumerate(module.objects(OBJECTS, bad=True), OBJECTS):
        thing = an_object(module, cls, number, spec)
        assert causes_of(things, thing) == local_causes_of(thing)

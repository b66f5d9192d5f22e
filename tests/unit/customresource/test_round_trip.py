"""Types that are generated from the definition of a class are those of the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.customresource.random_classes import RandomModule
from tests.unit.customresource.round_trip import generated_class, skeleton_of_class, skeleton_of_definition

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", range(2000, 2006))
def test_generated_types_have_the_schema_of_the_class(seed: int, tmp_path: Path) -> None:
    module = RandomModule(seed)
    cls = module.load()
    definition = cls.to_crd().to_dict()
    made = generated_class(definition, tmp_path)

    assert skeleton_of_class(made) == skeleton_of_definition(definition)
    assert (made.GVK, made.RESOURCE) == (cls.GVK, cls.RESOURCE)
    for spec in module.objects(3):
        data = {
            "apiVersion": cls.GVK.api_version,
            "kind": module.kind,
            "metadata": {"name": "x"},
            "spec": spec,
        }
        assert made.from_dict(data, strict=True).to_dict() == cls.from_dict(data, strict=True).to_dict() == data

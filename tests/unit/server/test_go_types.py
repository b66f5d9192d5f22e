"""Facts of Go's types: every row is about a type and fields that exist, and says something of them."""

from __future__ import annotations

import importlib
from typing import Any, cast

import pytest

from masthead._meta import shape
from masthead_server.resources import go_types
from masthead_server.resources.go_types_table import TYPES

PACKAGES = sorted(TYPES)


def classes_of(package: str) -> Any:
    return importlib.import_module("masthead.meta.v1" if package == "meta.v1" else f"masthead.api.{package}")


def fields_of(package: str, name: str) -> set[str]:
    return set(shape.fields_of(cast("Any", getattr(classes_of(package), name))))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_row_is_about_fields_of_a_class(package: str) -> None:
    for name in go_types._rows(package):
        known = go_types.fields_of(package, name)
        assert known, f"nothing is said of {name}"
        assert set(known) <= fields_of(package, name), name


@pytest.mark.parametrize("package", PACKAGES)
def test_every_entry_of_a_row_is_understood(package: str) -> None:
    for name, row in go_types._rows(package).items():
        rest = go_types._EMBEDDED.sub("", row).split()
        assert len(rest) == len(list(go_types._entries(" ".join(rest)))), (name, row)


def test_types_of_the_own_version_have_its_package() -> None:
    known = go_types.fields_of("core.v1", "PodSpec")
    assert known["restartPolicy"].type == "v1.RestartPolicy"
    assert known["containers"].is_omitted is False
    assert known["activeDeadlineSeconds"].is_pointer


def test_the_same_name_in_two_groups_is_not_the_same_type() -> None:
    assert go_types.fields_of("discovery.v1", "EndpointPort")["name"].is_pointer
    assert "name" not in go_types.fields_of("core.v1", "EndpointPort")


def test_fields_of_an_embedded_struct_name_it() -> None:
    assert go_types.fields_of("core.v1", "Volume")["configMap"].embedded == "VolumeSource"


def test_nothing_is_known_of_the_types_of_others() -> None:
    assert go_types.fields_of("example.v1", "Widget") == {}

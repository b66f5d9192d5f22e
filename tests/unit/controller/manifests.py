"""Realistic manifests of every built-in kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

from masthead import Unstructured
from masthead._meta.registry import registry

if TYPE_CHECKING:
    from masthead.meta import Object

Plain = dict[str, Any]

REALISTIC: list[Plain] = yaml.safe_load(
    (Path(__file__).parents[2] / "data/manifests/realistic.yaml").read_text("utf-8")
)


def class_of(manifest: Plain) -> type[Object]:
    return registry.object_class(Unstructured.from_dict(manifest).gvk)


def is_namespaced(manifest: Plain) -> bool:
    resource = class_of(manifest).RESOURCE
    return resource is not None and bool(resource.namespaced)


def title(manifest: Plain) -> str:
    return f"{manifest['kind']} {cast('str', manifest['apiVersion'])}"

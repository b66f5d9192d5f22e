"""The documents of Kubernetes 1.36 and of the API versions that it no longer serves, read without the generator's
help."""

from __future__ import annotations

import functools
import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.model import Struct

ROOT = Path(__file__).parents[3]
FOLDER = ROOT.parent / "shared" / "kubernetes-1.36"
LEGACY = FOLDER.with_name("kubernetes-legacy")
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

needs_documents = pytest.mark.skipif(
    not (FOLDER.is_dir() and LEGACY.is_dir()), reason=f"there is no {FOLDER}, or no {LEGACY}"
)


@functools.cache
def documents(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """The OpenAPI documents by their files' names; none where they are absent."""
    return {path.name: json.loads(path.read_bytes()) for path in sorted(folder.glob("openapi-v3/*.json"))}


@functools.cache
def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its full name: as the newest document has it."""
    return {
        name: schema
        for document in (*documents(LEGACY).values(), *documents().values())
        for name, schema in document["components"]["schemas"].items()
    }


def class_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas that a generated class stands for: structs, and not of what every group shares."""
    for name, schema in schemas().items():
        if schema.get("type") == "object" and not name.startswith("io.k8s.apimachinery."):
            yield name, schema


def class_for(full_name: str) -> type[Struct]:
    """The class of a schema: ``io.k8s.api.core.v1.Pod`` is ``masthead.api.core.v1.Pod``."""
    *_, group, version, name = full_name.split(".")
    found: type[Struct] = getattr(importlib.import_module(f"masthead.api.{group}.{version}"), name)
    return found


def attributes(cls: type[Struct]) -> dict[str, str]:
    """The attribute of each field, by its name on the wire."""
    return dict(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))


def target_of(schema: dict[str, Any]) -> str:
    """The full name of the schema that this one refers to, or nothing."""
    reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref", "")
    return str(reference).rpartition("/")[2]


def discovered() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The group, version and description of every resource, those that are no longer served among them."""
    for path in (FOLDER / "discovery-api.json", FOLDER / "discovery.json", LEGACY / "discovery.json"):
        for group in json.loads(path.read_bytes())["items"]:
            for version in group["versions"]:
                for resource in version["resources"]:
                    yield group["metadata"].get("name", ""), version["version"], resource

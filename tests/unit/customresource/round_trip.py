"""From a class to its definition, from the definition to generated types, and from these to a schema again."""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Any, cast

from masthead._codegen import generate, sources
from masthead._customresource.schemas import schema_of_resource
from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from masthead import Object

Plain = dict[str, Any]


def generated_class(definition: Plain, folder: Path) -> type[Object]:
    """The class that the generator makes from a definition of one version."""
    spec = definition["spec"]
    package = f"made_{spec['names']['plural']}"
    manifest = folder / f"{package}.json"
    manifest.write_text(json.dumps(definition), encoding="utf-8")
    generate.write(generate.files_for(sources.from_manifests([manifest]), package), folder / package)
    sys.path.insert(0, str(folder))
    try:
        group = spec["group"].replace(".", "_").replace("-", "_")
        module = importlib.import_module(f"{package}.{group}.{spec['versions'][0]['name']}")
    finally:
        sys.path.remove(str(folder))
    return cast("type[Object]", vars(module)[spec["names"]["kind"]])


def skeleton(schema: Schema) -> object:
    """The types of a schema, without constraints, defaults, documentation and what is required."""
    extra = schema.additional_properties
    format_ = schema.format if schema.format in {"byte", "date-time"} else ""
    if schema.embedded_resource or (schema.type == "object" and schema.preserve_unknown and not schema.properties):
        return "any object"
    return (
        schema.type,
        format_,
        schema.int_or_string,
        bool(schema.preserve_unknown) and not schema.properties,
        {name: skeleton(each) for name, each in sorted(schema.properties.items())},
        None if schema.items is None else skeleton(schema.items),
        skeleton(extra) if isinstance(extra, Schema) else None,
        (schema.list_type or "atomic", schema.list_map_keys) if schema.type == "array" else None,
    )


def skeleton_of_definition(definition: Plain) -> object:
    """The types of a definition's only version."""
    return skeleton(Schema.from_plain(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))


def skeleton_of_class(cls: type[Object]) -> object:
    """The types of a generated class."""
    return skeleton(schema_of_resource(cls))

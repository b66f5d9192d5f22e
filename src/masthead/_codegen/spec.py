"""The input of the generator: schemas and resources, from any source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.resource import Resource
from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Spec", "is_class", "targets_of"]


@dataclass(slots=True)
class Spec:
    """The schemas and resources of an API.

    Attributes:
        schemas: By their full names, such as ``io.k8s.api.core.v1.Pod``.
        resources: By the kind that they serve.
        enumerations: The names of enumerated types, by schema and field: ``io.k8s.api.core.v1.PodStatus.phase``. A
            field without a name here is named after its class.
    """

    schemas: dict[str, Schema] = field(default_factory=dict[str, Schema])
    resources: dict[GroupVersionKind, Resource] = field(default_factory=dict[GroupVersionKind, Resource])
    enumerations: dict[str, str] = field(default_factory=dict[str, str])


def is_class(schema: Schema) -> bool:
    """Whether a schema is an object with declared fields, or without any fields yet."""
    return bool(schema.properties or schema.kinds) or (schema.type == "object" and not schema.is_map)


def targets_of(schema: Schema) -> Iterator[str]:
    """Yield the full names of all schemas that one refers to, directly or in nested schemas."""
    if schema.target:
        yield schema.target
    for inner in schema.children():
        yield from targets_of(inner)

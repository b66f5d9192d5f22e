"""What the generator works from: schemas and resources, whatever they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from masthead.meta.gvk import GroupVersionKind
from masthead.meta.resource import Resource

Schema: TypeAlias = Mapping[str, Any]
"""An OpenAPI schema: JSON, read with care."""


@dataclass(slots=True)
class Spec:
    """Everything that is known about an API.

    Attributes:
        schemas: By their full names, such as ``io.k8s.api.core.v1.Pod``.
        resources: By the kind that they serve.
    """

    schemas: dict[str, Schema] = field(default_factory=dict[str, Schema])
    resources: dict[GroupVersionKind, Resource] = field(default_factory=dict[GroupVersionKind, Resource])

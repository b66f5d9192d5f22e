"""A custom resource with constraints, defaults and a type that contains itself."""

from __future__ import annotations

from typing import Annotated, Literal

import masthead
from masthead.crd import Field
from masthead.meta import Quantity, Struct


class Step(Struct):
    """A step."""

    name: str
    """Its name."""
    mode: Literal["Fast", "Safe"] = "Safe"
    memory: Quantity | None = None


class PlanSpec(Struct):
    """The desired state."""

    size: Annotated[int, Field(minimum=1, exclusive_maximum=10)]
    steps: list[Step] = []
    retries: int = 3
    """Attempts after the first one, see `max_delay`."""
    max_delay: Annotated[str | None, Field(pattern="^[0-9]+s$")] = None


class Plan(masthead.CustomResource, group="example.com", version="v1"):
    """A plan."""

    spec: PlanSpec


class Tree(Struct):
    """A type that contains itself."""

    children: list[Tree] = []
    labels: dict[str, str | None] = {}

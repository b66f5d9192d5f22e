"""Definitions as text: deterministic, and in the usual order of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta import yaml
from masthead._schema.schema import Json, is_list, is_object

if TYPE_CHECKING:
    from masthead.api.apiextensions.v1 import CustomResourceDefinition

__all__ = ["render_definition", "with_integers"]


def render_definition(definition: CustomResourceDefinition) -> str:
    """Return a definition as YAML."""
    return yaml.dump(with_integers(definition.to_dict()))


def with_integers(value: Json) -> Json:
    """Return plain JSON in which 2.0 is 2, as the server stores it in a definition."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {key: with_integers(each) for key, each in value.items()}
    return [with_integers(item) for item in value] if is_list(value) else value

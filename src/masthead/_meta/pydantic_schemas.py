"""Where pydantic finds the schemas of our types."""

from __future__ import annotations

import importlib
from typing import Any


def core_schemas() -> Any:  # noqa: ANN401 - a module
    """Return the module with the schemas. It is a layer above, and imports pydantic_core."""
    return importlib.import_module("masthead._pydantic.core_schemas")


def find_serializer(name: str) -> Any:  # noqa: ANN401 - a SchemaSerializer of pydantic_core
    """Return a serializer of that module.

    Raises:
        AttributeError: If pydantic is not installed.
    """
    try:
        module = core_schemas()
    except ModuleNotFoundError as error:
        # hasattr(), and tools that read all attributes of an object, expect this error.
        raise AttributeError(f"pydantic is not installed: {error}") from error
    return getattr(module, name)()

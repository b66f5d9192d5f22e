"""Where pydantic finds the schemas of our types."""

from __future__ import annotations

import importlib
from typing import Any


def core_schemas() -> Any:  # noqa: ANN401 - a module
    """Return the module with the schemas. It is a layer above, and imports pydantic_core."""
    return importlib.import_module("masthead._pydantic.core_schemas")

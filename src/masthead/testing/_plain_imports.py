"""Imports this package without pytest's assertion rewriting.

pytest rewrites the ``assert`` statements in all modules of a distribution with a plugin. For a test with
``kube_client`` it parses and compiles some 500 files of this one, again in every run with a read-only ``__pycache__``.
No test needs it.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["PlainImports", "install"]

_PREFIX: Final = f"{__name__.partition('.')[0]}."


class PlainImports:
    """A finder for the modules of this package, which delegates to Python's own finder."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of this package; None for other modules."""
        return PathFinder.find_spec(name, path, target) if name.startswith(_PREFIX) else None


def install() -> None:
    """Install the finder before all others, including pytest's."""
    # pytest may load the plugin twice: by its entry point, and by -p.
    if not any(isinstance(finder, PlainImports) for finder in sys.meta_path):
        sys.meta_path.insert(0, PlainImports())

"""Imports this package as if pytest were not there.

pytest rewrites the ``assert`` statements of every module of a distribution with a plugin, whatever the plugin needs: it
parses and compiles some 500 files of this one for a test that uses ``kube_client``, and does so again in every run whose
``__pycache__`` is read-only. No test reads the asserts of this package.
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
    """A finder for the modules of this package, which asks Python's own finder."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of this package; None leaves a module to the other finders."""
        return PathFinder.find_spec(name, path, target) if name.startswith(_PREFIX) else None


def install() -> None:
    """Put the finder before all others, pytest's among them."""
    if not any(isinstance(finder, PlainImports) for finder in sys.meta_path):
        sys.meta_path.insert(0, PlainImports())

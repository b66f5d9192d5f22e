"""Lazy exports: a public module imports a name when it is first used."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Create the ``__getattr__``, ``__dir__`` and ``__all__`` of a module.

    Args:
        package: The name of the module.
        homes: The defining module of each name; the module itself for a submodule.
    """
    namespace = vars(importlib.import_module(package))

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                # Completion, help() and hasattr() expect this error of an attribute whose extra is not installed.
                raise AttributeError(f"module {package!r} has no attribute {name!r}: {error}", name=name) from error
        # The value is not cached. Notebooks and pytester import some modules a second time in one process, and a cached
        # class of the first import would not be compatible with those of the second. A look-up costs a microsecond.
        return getattr(importlib.import_module(home), name)

    def names() -> list[str]:
        # Imports of the module itself, and submodules that happen to be imported, are left out.
        return sorted({*homes, *(name for name in namespace if name.startswith("__"))})

    # ``import *`` imports the names and leaves the submodules where they are.
    return get, names, [name for name, home in homes.items() if home != package]

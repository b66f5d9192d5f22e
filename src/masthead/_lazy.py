"""Lazy exports: names that a public module imports when they are first used."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exports(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Create the ``__getattr__`` and ``__dir__`` of a module.

    Names are resolved each time, which costs a microsecond. Caching them would return outdated classes after a module is
    imported a second time in one process, as notebooks and pytester do; old and new classes are not compatible.

    Args:
        package: The package's name.
        homes: The defining module of each name; or the package itself, for a name that is a submodule.
    """
    namespace = vars(importlib.import_module(package))

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return importlib.import_module(f"{package}.{name}")
        module = importlib.import_module(home)
        if not hasattr(module, name):
            importlib.import_module(f"{home}.{name}")  # makes it an attribute of its package
        return getattr(module, name)

    def names() -> list[str]:
        # Without the imports of the module itself, and without submodules that happen to be imported.
        return sorted({*homes, *(name for name in namespace if name.startswith("__"))})

    return get, names

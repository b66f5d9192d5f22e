"""Names that a package offers and imports only when they are used."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make a package's ``__getattr__`` and ``__dir__``.

    Names are looked up anew each time, at the price of a microsecond. A package that kept what it found would go on
    handing out the old modules after some of them have been imported a second time in one process, as notebooks and
    pytester do, and old and new classes do not know each other.

    Args:
        package: The package's name.
        homes: The module that each name comes from; or the package, for a name that is a module itself.
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
            importlib.import_module(f"{home}.{name}")  # which makes it an attribute of its package
        return getattr(module, name)

    def names() -> list[str]:
        # Not what the package needed to get here, nor the modules that happen to be imported by now.
        return sorted({*homes, *(name for name in namespace if name.startswith("__"))})

    return get, names

"""Cases: a name, an area and a script of requests."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tests.conformance import cases

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.api import Api

    Script: TypeAlias = Callable[[Api], None]


@dataclass(frozen=True)
class Case:
    """A script to put to both servers.

    Attributes:
        area: The heading that it stands under.
        name: A sentence about behaviour, unique within its area.
        script: Sends the requests.
        plugins: Admission plugins that the servers run in addition to those of all other cases.
    """

    area: str
    name: str
    script: Script
    plugins: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name that it has among all cases."""
        return f"{self.area}: {self.name}"


_cases: dict[str, Case] = {}


def area(name: str, plugins: tuple[str, ...] = ()) -> Callable[[str], Callable[[Script], Script]]:
    """Return a decorator that takes functions up as cases of an area.

    Args:
        name: The name of the area.
        plugins: Further admission plugins of the servers.
    """

    def case(sentence: str) -> Callable[[Script], Script]:
        def keep(script: Script) -> Script:
            new = Case(name, sentence, script, plugins)
            if new.title in _cases:
                raise ValueError(f"there are two cases with the name {new.title!r}")
            _cases[new.title] = new
            return script

        return keep

    return case


def all_cases() -> list[Case]:
    """Every case there is, in the order of the modules and of their lines."""
    for module in sorted(pkgutil.iter_modules(cases.__path__), key=lambda each: each.name):
        importlib.import_module(f"{cases.__name__}.{module.name}")
    return list(_cases.values())

"""The call that replays a schedule, as source text."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead.testing._explore.schedule import Schedule

__all__ = ["ReplayCall"]

_MAX_SOURCE: Final = 2_000
"""The maximum length of the source of a plain value."""
_PLAIN: Final = (str, bytes, int, float, bool, type(None))


@set_module("masthead.testing.exploration")
@dataclass(frozen=True, slots=True)
class ReplayCall:
    """How to call the exploration again.

    Attributes:
        make_app: The name of the factory, in the module that imports it.
        workload: The name of the workload.
        options: The source of further arguments, by name.
        imports: The names to import, with their modules.
        missing: Arguments that cannot be imported, with the reason.
        command: The shell command that explores, for `line`; empty for a call in Python.
    """

    make_app: str = "make_app"
    workload: str = "workload"
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    imports: Sequence[tuple[str, str]] = ()
    missing: Sequence[str] = ()
    command: str = ""

    @classmethod
    def of(cls, make_app: object, workload: object, **options: object) -> ReplayCall:
        """Return the call for the arguments of an exploration; options that are None are left out."""
        source = _Source(getattr(make_app, "__module__", ""))
        names = [source.name(make_app, "make_app"), source.name(workload, "workload")]
        texts = {name: source.value(value, name) for name, value in options.items() if value is not None}
        return cls(names[0], names[1], texts, tuple(sorted(source.imports)), tuple(source.missing))

    def line(self, schedule: Schedule) -> str:
        """Return the call for a schedule in one line."""
        if self.command:
            return f"{self.command} --replay {schedule}"
        return f"explore.replay({', '.join(self.arguments(schedule))})"

    def arguments(self, schedule: Schedule) -> list[str]:
        """Return the source of the arguments for a schedule."""
        options = [f"{name}={text}" for name, text in self.options.items()]
        return [f'"{schedule}"', self.make_app, self.workload, *options]


class _Source:
    """Source text of values, and the imports that it needs."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.imports: set[tuple[str, str]] = set()
        self.missing: list[str] = []

    def name(self, value: object, argument: str) -> str:
        """Return a name for a function, class or other object of a module; a text is its own name."""
        if isinstance(value, str):
            return json.dumps(value)
        place = _find(value, self._home)
        if place is None:
            self.missing.append(f"{argument}: {_qualified(value)} is not at the top of a module")
            return argument
        module, name = place
        if module == "__main__":
            self.missing.append(f"{argument}: {name} is in a program, which a test cannot import")
            return name
        # A method cannot be imported, but its class can.
        self.imports.add((module, name.partition(".")[0]))
        return name

    def value(self, value: object, argument: str) -> str:
        """Return the source of a value: plain data, lists and mappings of it, names of functions and classes."""
        # Before sequences, because a string is one as well.
        if isinstance(value, _PLAIN):
            text = repr(value)
        elif isinstance(value, Object):
            text = repr(value.to_dict())
        elif isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            text = (
                f"{{{', '.join(f'{self.value(key, argument)}: {self.value(item, argument)}' for key, item in pairs)}}}"
            )
        elif isinstance(value, Sequence | AbstractSet):
            text = f"[{', '.join(self.value(item, argument) for item in cast('Sequence[object]', value))}]"
        else:
            return self.name(value, argument)
        if len(text) > _MAX_SOURCE:
            self.missing.append(f"{argument}: too long to show")
            return argument
        return text


def _find(value: object, home: str) -> tuple[str, str] | None:
    """Return the module and name of a value; None if it has none."""
    module, name = str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", ""))
    # A decorated or local function may bear the name of another object.
    if module and name and _lookup(module, name) is value:
        return module, name
    # A list or a partial has no name; often its module has one for it.
    for candidate in (home, "__main__"):
        variables = vars(sys.modules[candidate]) if candidate in sys.modules else {}
        for variable, found in list(variables.items()):
            if found is value and not variable.startswith("_"):
                return candidate, variable
    return None


def _lookup(module: str, name: str) -> object:
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _qualified(value: object) -> str:
    name = getattr(value, "__qualname__", None)
    return str(name) if name else f"a {type(value).__name__}"

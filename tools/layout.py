"""What the modules of the clientset and of the informer groups have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._codegen.layout import WIDTH, Brackets, lay_out
from tools.headers import first_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools.groups import GroupDef

__all__ = ["NARROWS", "Root", "attribute", "import_of", "indented", "render_root"]

_SET_MODULE: Final = "masthead._module"
NARROWS: Final = (
    "# `_async` is assigned once, by `Facade`, so that a class may say more of its type than its bases do.",
    "# pyright: reportIncompatibleVariableOverride=false",
)
"""The comment of a module whose classes declare the type of `_async` again."""


@dataclass(frozen=True, slots=True)
class Root:
    """A class with a property for every group.

    Attributes:
        name: Its name.
        title: The title of its module.
        about: What a property leads to: ``The resources of``.
        package: The package of the groups' modules.
        blocking_package: The package of their blocking namesakes.
        home: The module of the async class.
        blocking_base: The base of the blocking class, and its module.
        argument: What the async class and its groups are made with: its name, its type, and the type's module.
    """

    name: str
    title: str
    about: str
    package: str
    blocking_package: str
    home: str
    blocking_base: tuple[str, str]
    argument: tuple[str, str, str]


def render_root(root: Root, groups: Sequence[tuple[GroupDef, str]], *, is_blocking: bool) -> str:
    """Write the module of a root.

    Args:
        root: The root.
        groups: The groups, each with the name of its class.
        is_blocking: Whether it is of the blocking façade.
    """
    package = root.blocking_package if is_blocking else root.package
    argument, argument_type, argument_home = root.argument
    checked = [(f"{package}.{group.accessor}", cls) for group, cls in groups]
    imports = ["from functools import cached_property", "from typing import TYPE_CHECKING"]
    base, base_home = root.blocking_base
    if is_blocking:
        wrapped = f"Async{root.name}"
        needed = import_of(root.home, f"{root.name} as {wrapped}") if wrapped in base else []
        homes = [*needed, *import_of(_SET_MODULE, "set_module"), *import_of(base_home, base.partition("[")[0])]
        imports += ["", *sorted(homes)]
    else:
        imports += ["", *import_of(_SET_MODULE, "set_module")]
        checked.append((argument_home, argument_type))
    lines = [
        first_line(root.title),
        "",
        "from __future__ import annotations",
        "",
        *imports,
        "",
        "if TYPE_CHECKING:",
        *indented(line for home, name in sorted(checked) for line in import_of(home, name, indent=4)),
        "",
        f'__all__ = ["{root.name}"]',
        "",
        "",
        f'@set_module("{package}")',
        f"class {root.name}({base}):" if is_blocking else f"class {root.name}:",
        '    """Every group at every version; each is imported when it is first used."""',
    ]
    if not is_blocking:
        lines += [
            "",
            f"    def __init__(self, {argument}: {argument_type}) -> None:",
            f"        self._{argument} = {argument}",
        ]
    for group, cls in groups:
        arguments = ["self._portal", f"self._async.{group.accessor}"] if is_blocking else [f"self._{argument}"]
        lines += [
            "",
            "    @cached_property",
            f"    def {group.accessor}(self) -> {cls}:",
            *indented(attribute(f"{root.about} {group.served}.", group.removal), by=8),
            *indented(import_of(f"{package}.{group.accessor}", cls, indent=8), by=8),
            "",
            *indented(lay_out("return ", Brackets(f"{cls}(", arguments), indent=8), by=8),
        ]
    return "\n".join(lines) + "\n"


def import_of(home: str, name: str, *, indent: int = 0) -> list[str]:
    """The statement that imports one name, as lines that will be indented by so many columns."""
    line = f"from {home} import {name}"
    return [line] if indent + len(line) <= WIDTH else [f"from {home} import (", f"    {name},", ")"]


def attribute(about: str, removal: str) -> list[str]:
    """The docstring of a group or a resource, with a second paragraph if it is no longer served."""
    return [f'"""{about}', "", removal, '"""'] if removal else [f'"""{about}"""']


def indented(lines: Iterable[str], *, by: int = 4) -> list[str]:
    """The lines, so many columns to the right; empty ones stay empty."""
    return [f"{' ' * by}{line}" if line else "" for line in lines]

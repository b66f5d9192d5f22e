"""The reference of `masthead.api`: the types of each group and version, with their fields.

A page is about a module, or about a part of a big one: the types that one file of ``tools/descriptions`` describes.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from tools.descriptions import parts_of
from tools.descriptions.coverage import Name, read_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from masthead.meta import Object, Resource
    from tools.descriptions.coverage import ClassSource, FieldSource

__all__ = ["FOLDER", "ApiModule", "api_modules", "type_pages"]

FOLDER: Final = "reference/api"
_SHARED: Final = ("masthead.meta", "masthead.meta.v1")
_NAME: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ApiModule:
    """A module of `masthead.api`.

    Attributes:
        module: The module.
        group: The folder of its group.
        classes: Its classes, by name.
    """

    module: ModuleType
    group: str
    classes: Mapping[str, type[Object]]

    @property
    def removed_in(self) -> str:
        """The release that stopped serving it; empty if it is served."""
        return cast("str", getattr(self.module, "REMOVED_IN", ""))

    @property
    def title(self) -> str:
        """Its name in `masthead.api`: ``core.v1``."""
        return self.module.__name__.removeprefix("masthead.api.")

    @property
    def kinds(self) -> dict[str, Resource]:
        """The resource of each kind."""
        found = {name: _resource(definition) for name, definition in self.classes.items()}
        return {name: resource for name, resource in found.items() if resource}

    def page_of(self, name: str) -> str:
        """The page of a class, within the folder of types."""
        part = parts_of(self.group).get(name.removesuffix("List"), "")
        return f"{self.title}.{part}.md" if part else f"{self.title}.md"


def _resource(definition: type[Object]) -> Resource | None:
    return getattr(definition, "RESOURCE", None)


def api_modules(names: list[str]) -> list[ApiModule]:
    """The modules of the generated types."""
    found: list[ApiModule] = []
    for name in names:
        module = importlib.import_module(name)
        classes = {
            definition.__name__: definition
            for definition in vars(module).values()
            if isinstance(definition, type) and definition.__module__ == name
        }
        found.append(ApiModule(module, name.split(".")[-2], cast("dict[str, type[Object]]", classes)))
    return [module for module in found if module.classes]


def type_pages(modules: list[ApiModule], homes: Mapping[str, str]) -> dict[str, str]:
    """The pages with the types of the modules that are served, by their paths within the site.

    Args:
        modules: The modules.
        homes: The page and anchor of each public name that is not a generated type.
    """
    served = {module.module.__name__: module for module in modules if not module.removed_in}
    pages: dict[str, list[str]] = {}
    for module in served.values():
        for name in sorted(module.classes):
            path = module.page_of(name)
            # Parts of a module share their heading with all types in them.
            if path not in pages:
                pages[path] = list(_heading(module, path))
            pages[path] += _type(module, name, _Linker(served, homes))
    return {f"{FOLDER}/{path}": "\n".join(lines) + "\n" for path, lines in pages.items()}


def _heading(module: ApiModule, page: str) -> Iterator[str]:
    # "volume-sources" is a file name, and reads as two words.
    part = page.removesuffix(".md").removeprefix(module.title).lstrip(".").replace("-", " ")
    yield f"# {module.module.__name__}{f': {part}' if part else ''}\n"
    yield "All modules: [masthead.api](../api.md). Below the name of a field is its name in YAML, if it differs.\n"


class _Linker:
    """Finds the page and anchor of a class in an annotation."""

    def __init__(self, served: Mapping[str, ApiModule], homes: Mapping[str, str]) -> None:
        self._served = served
        self._homes = homes

    def link(self, name: Name) -> str | None:
        if module := self._served.get(name.module):
            return f"{module.page_of(name.name)}#{name.name}"
        home = next(
            (self._homes[f"{place}.{name.name}"] for place in _SHARED if f"{place}.{name.name}" in self._homes), None
        )
        return f"../{home}" if home and name.module in _SHARED else None


def _type(module: ApiModule, name: str, linker: _Linker) -> Iterator[str]:
    source = read_classes()[Name(module.module.__name__, name)]
    yield f"## {name} {{: #{name} }}\n"
    if resource := _resource(module.classes[name]):
        scope = "in a namespace" if resource.namespaced else "of the cluster"
        yield f"*Resource `{resource.name}`, {scope}.*\n"
    yield f"{' '.join(source.doc.split())}\n"
    if source.fields:
        yield from _fields(module.classes[name], source, linker)


def _fields(definition: type[Object], source: ClassSource, linker: _Linker) -> Iterator[str]:
    wires = dict(zip(definition.__struct_fields__, definition.__struct_encode_fields__, strict=True))
    defaults = cast("Mapping[str, object]", getattr(definition, "DEFAULTS", {}))
    yield "| field | type | |\n|---|---|---|"
    for attribute, field in source.fields.items():
        wire = wires[attribute]
        names = f"`{attribute}`" if attribute == wire else f"`{attribute}`<br>`{wire}`"
        text = " ".join(field.doc.split())
        # A description that names the default says more about it.
        if wire in defaults and "efault" not in text:
            text = f"{text} Default: `{defaults[wire]}`."
        yield f"| {names} | {_annotation(field, linker)} | {text.strip().replace('|', '&#124;')} |"
    yield ""


def _annotation(field: FieldSource, linker: _Linker) -> str:
    """A type with links to the pages of its classes."""

    def linked(found: re.Match[str]) -> str:
        name = field.uses.get(found[0])
        target = linker.link(name) if name else None
        return f"[{found[0]}]({target})" if target else found[0]

    # A bar would end the cell of the table, and brackets would begin a link.
    return _NAME.sub(linked, field.annotation.replace("|", "&#124;").replace("[", "\\[")).replace("&#124;", "or")

"""The reference: a page for each public module, made from the code at run time.

The names and signatures are those of `tools.public_api`, so that the reference, ``docs/api.txt`` and the code agree.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import masthead.testing
from tools.descriptions.coverage import Name, read_classes
from tools.public_api import describe, is_group, listed_modules, signature
from tools.site.api_types import api_modules, type_pages
from tools.site.docstrings import to_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from tools.site.api_types import ApiModule

__all__ = ["pages"]

_FOLDER: Final = "reference"
_NAME: Final = re.compile(r"(?:class |async def |def |property |classmethod def |staticmethod def )?(\w+)")
_GROUPS: Final = ("Classes", "Functions", "Errors", "Other names", "Also here")
_WIDTH: Final = 96
_BUILTINS: Final = (object, type, int, str, bytes, dict, list, tuple, frozenset, NamedTuple("_Plain", []))
_OF_PYTHON: Final = {inspect.getdoc(member) for kind in _BUILTINS for member in (kind, *vars(kind).values())}
"""Docstrings of Python's own types, which a class inherits: they say nothing about it."""
_API: Final = """\
# masthead.api

The types of Kubernetes 1.36, generated from its OpenAPI documents: a module for each group and version, a class for
each type. [Objects](../objects.md) is the manual, [`masthead.meta`](masthead.meta.md) has the shared types.
Classes have the names of the API, attributes those of its fields in snake case; editors and type checkers know all of
them. The versions that
[Kubernetes no longer serves](../versions.md#api-versions-that-kubernetes-no-longer-serves) are among them.
"""


@dataclass
class _Entry:
    """A public name: its line in the list of the public API, and those of its members."""

    line: str
    members: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        return _name(self.line)


def pages() -> Mapping[str, str]:
    """The pages, by their paths within the site."""
    modules = [module for module in listed_modules() if not is_group(module)]
    api = [module for module in modules if module.startswith("masthead.api")]
    listed = _list_entries([module for module in modules if module not in api])
    homes = _homes(listed)
    found = {_path(module): _page(module, entries, homes) for module, entries in listed.items()}
    types = api_modules(api)
    found[f"{_FOLDER}/api.md"] = "\n".join(_api_page(types))
    found |= type_pages(types, homes)
    found[f"{_FOLDER}/pytest.md"] = _plugin_page()
    return found


def _path(module: str) -> str:
    return f"{_FOLDER}/{module}.md"


def _name(line: str) -> str:
    found = _NAME.match(line)
    return found[1] if found else line


def _has_heading(member: str) -> bool:
    """Whether a member has a heading: neither a field nor the constructor."""
    return re.match(r"\w+: |def __init__", member) is None


def _group(line: str) -> str:
    """The section of a page that a name belongs to, one of `_GROUPS`."""
    if " = masthead." in line:
        return "Also here"
    if line.startswith("class "):
        return "Errors" if re.match(r"class \w+(Error|Warning)\b", line) else "Classes"
    return "Functions" if line.startswith(("def ", "async def ")) else "Other names"


def _list_entries(modules: Sequence[str]) -> dict[str, list[_Entry]]:
    """What the modules export: the lines of the public API, by module and name."""
    found: dict[str, list[_Entry]] = {}
    current: list[_Entry] = []
    for line in describe(modules):
        if line and not line.startswith(" "):
            current = found.setdefault(line, [])
        elif line.startswith("        "):
            current[-1].members.append(line.strip())
        elif line:
            current.append(_Entry(line.strip()))
    return found


def _homes(listed: Mapping[str, Sequence[_Entry]]) -> dict[str, str]:
    """The page and anchor of each full name; of names that several modules export, the first."""
    found: dict[str, str] = {}
    for module, entries in listed.items():
        found[module] = f"{module}.md"
        for entry in entries:
            if " = masthead." in entry.line:
                continue
            found[f"{module}.{entry.name}"] = f"{module}.md#{entry.name}"
            for member in filter(_has_heading, entry.members):
                full = f"{entry.name}.{_name(member)}"
                found[f"{module}.{full}"] = f"{module}.md#{_anchor(full)}"
    return found


def _anchor(name: str) -> str:
    """The anchor of a member: two underscores would be taken for Markdown."""
    return name.replace("__", "-")


def _docstring(value: object) -> str:
    found = inspect.getdoc(value) or ""
    return "" if found in _OF_PYTHON else found


def _page(module: str, entries: Sequence[_Entry], homes: Mapping[str, str]) -> str:
    found = importlib.import_module(module)
    about = to_markdown(found.__doc__ or "", _linker(module, "", homes))
    return "\n".join([f"# {module}\n", about, *_groups(found, entries, homes)])


def _groups(module: ModuleType, entries: Sequence[_Entry], homes: Mapping[str, str]) -> Iterator[str]:
    for title in _GROUPS:
        group = [entry for entry in entries if _group(entry.line) == title]
        if not group:
            continue
        yield f"\n## {title}\n"
        for entry in group:
            if title == "Also here":
                home = entry.line.partition(" = ")[2]
                yield f"- [`{entry.name}`]({homes[home]}), as `{home}`"
            else:
                yield from _describe(module, entry, homes)


def _describe(module: ModuleType, entry: _Entry, homes: Mapping[str, str]) -> Iterator[str]:
    value = cast("object", getattr(module, entry.name))
    link = _linker(module.__name__, entry.name, homes)
    yield f"### {entry.name} {{: #{entry.name} }}\n"
    made = [member for member in entry.members if member.startswith("def __init__")]
    yield from _signature(_describe_constructor(entry, value, made))
    if isinstance(value, type) or inspect.isroutine(value):
        yield to_markdown(_docstring(value), link)
    if made:
        yield to_markdown(_docstring(inspect.getattr_static(value, "__init__")), link)
    yield from _members(value, [member for member in entry.members if member not in made], entry.name, link)


def _describe_constructor(entry: _Entry, value: object, made: Sequence[str]) -> str:
    """The line of a name; of a class that users construct, with the parameters of its constructor."""
    if made:
        parameters = made[0].removeprefix("def __init__")
    elif isinstance(value, type) and "\nArgs:\n" in (inspect.getdoc(value) or ""):
        parameters = signature(value)
    else:
        return entry.line
    return f"class {entry.name}{parameters.removesuffix(' -> None')}"


def _members(value: object, members: Sequence[str], name: str, link: Callable[[str], str | None]) -> Iterator[str]:
    plain = [member for member in members if not _has_heading(member)]
    if plain:
        yield "**Fields**\n"
        docs = _field_docs(value)
        yield from (f"- `{line}`{docs.get(_name(line), '')}" for line in plain)
        yield ""
    described = {
        member: _docstring(inspect.getattr_static(value, _name(member))) for member in members if member not in plain
    }
    special = [inner for inner, docstring in described.items() if _name(inner).startswith("__") and not docstring]
    if special:
        yield f"**Special methods**: {', '.join(f'`{_name(name)}`' for name in special)}\n"
    for line, docstring in described.items():
        if line not in special:
            yield _heading(name, _name(line))
            yield from _signature(line)
            yield to_markdown(docstring, link)


def _field_docs(value: object) -> dict[str, str]:
    """The docstrings of the fields of a shared type, after a colon."""
    # Functions and constants have no fields.
    if not isinstance(value, type):
        return {}
    source = read_classes().get(Name(value.__module__, value.__name__))
    if source is None:
        return {}
    return {attribute: f": {' '.join(field.doc.split())}" for attribute, field in source.fields.items() if field.doc}


def _heading(owner: str, member: str) -> str:
    title = member.replace("__", "\\_\\_")
    return f"#### {title} {{: #{_anchor(f'{owner}.{member}')} }}\n"


def _linker(module: str, owner: str, homes: Mapping[str, str]) -> Callable[[str], str | None]:
    """Find the page of a name as a docstring writes it: of the same class, of the same module, or anywhere."""
    prefixes = [f"{module}.{owner}." if owner else "", f"{module}.", "masthead.", ""]

    def link(name: str) -> str | None:
        return next((homes[f"{prefix}{name}"] for prefix in prefixes if prefix + name in homes), None)

    return link


def _signature(line: str) -> Iterator[str]:
    """A line of the public API as code, in several lines if it is long."""
    head, opening, rest = line.partition("(")
    inner, closing, tail = rest.rpartition(")")
    if len(line) > _WIDTH and opening and closing:
        parts = "".join(f"    {part},\n" for part in _split(inner))
        line = f"{head}(\n{parts}){tail}"
    yield f"```python\n{line}\n```\n"


def _split(parameters: str) -> Iterator[str]:
    """Split at the commas that are not within brackets or strings."""
    depth, start, quote = 0, 0, ""
    for index, item in enumerate(parameters):
        if quote:
            quote = "" if item == quote else quote
        elif item in "'\"":
            quote = item
        else:
            depth += (item in "([{") - (item in ")]}")
            if item == "," and not depth:
                yield parameters[start:index].strip()
                start = index + 1
    yield parameters[start:].strip()


def _api_page(modules: Sequence[ApiModule]) -> Iterator[str]:
    """The overview of the generated types: their modules, and the kinds in each."""
    yield _API
    for module in modules:
        if module.kinds:
            yield from _api_module(module)


def _api_module(module: ApiModule) -> Iterator[str]:
    def title(name: str) -> str:
        return f"`{name}`" if module.removed_in else f"[`{name}`](api/{module.page_of(name)}#{name})"

    yield f"## {module.module.__name__}\n"
    if module.removed_in:
        yield f"Not served since Kubernetes {module.removed_in}.\n"
    yield "| kind | resource | |\n|---|---|---|"
    for kind, resource in sorted(module.kinds.items()):
        scope = "in a namespace" if resource.namespaced else "of the cluster"
        yield f"| {title(kind)} | `{resource.name}` | {scope} |"
    others = sorted(
        name for name in module.classes.keys() - module.kinds.keys() if name.removesuffix("List") not in module.kinds
    )
    if others:
        yield f"\nTypes of their fields: {', '.join(map(title, others))}."
    yield ""


def _plugin_page() -> str:
    """The fixtures, from the docstring of the plugin: it imports pytest, which need not be there."""
    source = Path(str(masthead.testing.__file__)).with_name("plugin.py").read_text("utf-8")
    return f"# pytest fixtures\n\n{to_markdown(ast.get_docstring(ast.parse(source)) or '')}"

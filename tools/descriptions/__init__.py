"""The docstrings of the API's types and fields, from the YAML files of this folder.

A file describes an API group. Classes of the same name in several versions of a group share a description.
``python -m tools.descriptions`` prints the types and fields of `masthead.api` that lack one.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import yaml

from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._codegen.definitions import ClassDef, ModuleDef

__all__ = ["Description", "add_to", "parts_of", "read"]

_FOLDER: Final = Path(__file__).parent


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of one class.

    Attributes:
        doc: The docstring of the class.
        fields: Those of its fields, by attribute.
    """

    doc: str
    fields: dict[str, str] = {}


@cache
def read() -> Mapping[str, Mapping[str, Description]]:
    """Read the descriptions, by group as in `masthead.api`, and by class.

    Raises:
        GenerateError: If a file is malformed, or two files describe the same class of a group.
    """
    groups: dict[str, dict[str, Description]] = {}
    # A big group has a folder with several files.
    for path in sorted(_FOLDER.rglob("*.yaml")):
        group = path.relative_to(_FOLDER).parts[0].removesuffix(".yaml")
        classes = _read_file(path)
        if twice := groups.setdefault(group, {}).keys() & classes.keys():
            raise GenerateError(f"{path} describes again: {', '.join(sorted(twice))}")
        groups[group] |= classes
    return groups


def parts_of(group: str) -> Mapping[str, str]:
    """The part of a group that each class belongs to: the file that describes it. Empty for a group with one file."""
    files = sorted((_FOLDER / group).glob("*.yaml"))
    return {name: path.stem for path in files for name in _read_file(path)}


@cache
def _read_file(path: Path) -> dict[str, Description]:
    try:
        return msgspec.convert(yaml.safe_load(path.read_text("utf-8")), dict[str, Description])
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise GenerateError(f"{path} is malformed: {error}") from error


def add_to(modules: Iterable[ModuleDef]) -> None:
    """Add the docstrings to the definitions.

    Raises:
        GenerateError: If a class has no description.
    """
    groups = read()
    for module in modules:
        for definition in module.classes:
            description = _find(groups, module, definition)
            if description is None:
                file = f"tools/descriptions/{_group(module)}.yaml"
                raise GenerateError(f"{module.name}.{definition.name} has no description: add one to {file}")
            definition.doc = description.doc
            definition.fields = [
                dataclasses.replace(one, doc=description.fields.get(one.attribute, "")) for one in definition.fields
            ]


def _group(module: ModuleDef) -> str:
    return module.name.split(".")[-2]


def _find(
    groups: Mapping[str, Mapping[str, Description]], module: ModuleDef, definition: ClassDef
) -> Description | None:
    """The description of a class: that of its group, or of the group to which its kinds have moved."""
    # Nothing can be said of a list beyond its items.
    if definition.item:
        return Description(f"A list of {definition.item} objects.")
    own = groups.get(_group(module), {})
    if definition.name in own:
        return own[definition.name]
    # Kinds of extensions/v1beta1 live on in apps, networking and policy.
    if module.removed:
        return next((classes[definition.name] for classes in groups.values() if definition.name in classes), None)
    return None

"""The definitions of modules, classes and fields, from which `render` makes Python text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from masthead._meta.resource import removal_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.gvk import GroupVersion, GroupVersionKind
    from masthead._meta.merge import Merge
    from masthead._meta.resource import Resource

Values: TypeAlias = "tuple[str, ...]"
"""The values of an enumerated type."""


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A name and the module that defines it."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class FieldDef:
    """A field.

    Attributes:
        attribute: Its Python name.
        wire: Its name on the wire.
        annotation: Its type, as Python writes it.
        default: ``None``, ``""``, ``[]``, ``EMPTY``, or the name of the class to make for a nested value.
        references: The names that the annotation uses.
        takes_data: Whether ``new`` accepts plain data for it, because it holds a type of the API.
        merge: How it merges, where that is not the default.
        server_default: The default that the server sets.
        doc: The API's documentation; empty unless docstrings are requested.
        is_nullable: Whether null differs from leaving the field out.
    """

    attribute: str
    wire: str
    annotation: str
    default: str
    references: frozenset[Reference] = frozenset()
    takes_data: bool = False
    merge: Merge | None = None
    server_default: str | float | bool | None = None
    doc: str = ""
    is_nullable: bool = False

    @property
    def is_nested_value(self) -> bool:
        """Whether it is a nested type that is never None."""
        return self.default == self.annotation


@dataclass(slots=True)
class ClassDef:
    """A class.

    Attributes:
        name: Its name.
        fields: Its fields, without those of every object.
        gvk: The kind, for a kind or a list.
        resource: The resource that serves a kind.
        item: The class of a list's items.
        is_atomic: Whether it merges as one value.
        sensitive: The attributes that reprs must hide.
        doc: The API's documentation; empty unless docstrings are requested.
    """

    name: str
    fields: list[FieldDef] = field(default_factory=list[FieldDef])
    gvk: GroupVersionKind | None = None
    resource: Resource | None = None
    item: str = ""
    is_atomic: bool = False
    sensitive: tuple[str, ...] = ()
    doc: str = ""

    def needs(self, module: str) -> set[str]:
        """The classes of the same module that it refers to."""
        used = {reference.name for one in self.fields for reference in one.references if reference.module == module}
        return used | ({self.item} if self.item else set())


@dataclass(slots=True)
class ModuleDef:
    """A module: one group at one version.

    Attributes:
        name: Its dotted name.
        group_version: Its group and version.
        is_custom: Whether it has custom resources, whose schemas do not distinguish values from pointers.
        classes: Its classes, each after the classes that it needs.
        early: Pairs of classes of which the first must name the second in quotes, because it comes later.
        aliases: The local names of imports whose own name is taken.
        enumerations: The values of enumerated types, by the name of the type.
    """

    name: str
    group_version: GroupVersion
    is_custom: bool = False
    classes: list[ClassDef] = field(default_factory=list[ClassDef])
    early: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    aliases: dict[Reference, str] = field(default_factory=dict[Reference, str])
    enumerations: dict[str, Values] = field(default_factory=dict[str, "Values"])

    def local(self, reference: Reference) -> str:
        """The local name of a reference."""
        return self.aliases.get(reference, reference.name)

    @property
    def removed(self) -> list[Resource]:
        """Its resources that Kubernetes no longer serves; either none or all of them."""
        return [
            definition.resource for definition in self.classes if definition.resource and definition.resource.removed_in
        ]

    @property
    def removed_in(self) -> str:
        """The release that stopped serving the last of its resources; empty if it is served."""
        releases = [resource.removed_in for resource in self.removed if resource.removed_in]
        return max(releases, key=lambda each: tuple(map(int, each.split("."))), default="")

    @property
    def removal(self) -> str:
        """A sentence with the release that removed it and its replacement; empty if it is served."""
        replacements = sorted({resource.replacement for resource in self.removed if resource.replacement})
        return removal_sentence(self.removed_in, *replacements) if replacements else ""

    def needs(self) -> set[str]:
        """The modules that it refers to, perhaps itself among them."""
        return {used.module for definition in self.classes for one in definition.fields for used in one.references}


def in_dependency_order(classes: Iterable[ClassDef], module: str) -> tuple[list[ClassDef], set[tuple[str, str]]]:
    """Sort the classes of a module by name, each after the classes that it needs.

    Returns:
        The classes in order, and the pairs of which the first needs the second before it is defined.
    """
    by_name = {definition.name: definition for definition in sorted(classes, key=lambda definition: definition.name)}
    ordered: list[ClassDef] = []
    done: set[str] = set()
    early: set[tuple[str, str]] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in done:
            return
        for needed in sorted(by_name[name].needs(module)):
            if needed in above or needed == name:
                # They need each other, so that one is used before it is defined, whatever the order.
                early.add((name, needed))
            else:
                visit(needed, (*above, name))
        done.add(name)
        ordered.append(by_name[name])

    for name in by_name:
        visit(name, ())
    return ordered, early

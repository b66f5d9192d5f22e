"""What things are called in Python."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Final

from masthead._meta.model import Struct
from masthead._meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

# clusterIPs is a word and a plural acronym, not "cluster", "IP" and "s".
_PLURAL_ACRONYM: Final = re.compile(r"([A-Z]{2,})s(?=[A-Z]|$)")
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=V[0-9])")
_NOT_A_NAME: Final = re.compile(r"[^0-9A-Za-z]+")
_NOT_ON_THE_WIRE: Final = re.compile(r'["\\\x00-\x1f]')

_LONG: Final = 60  # half a line

_USED_IN_BODIES: Final = frozenset({"bool", "bytes", "dict", "field", "float", "int", "list", "str"})
_FIRST_ARGUMENTS: Final = frozenset({"cls", "self"})
_ARGUMENTS_OF_NEW: Final = frozenset({"name", "namespace", "generate_name", "labels", "annotations"})


def _public(cls: type) -> frozenset[str]:
    """The names that a class, its instances or its metaclass answer to."""
    return frozenset(name for name in {*dir(cls), *dir(type(cls))} if not name.startswith("_"))


RESERVED: Final = _public(Struct) | _USED_IN_BODIES | _FIRST_ARGUMENTS
"""What no field may be called: every type has it already, or the class body needs the name itself."""
RESERVED_IN_KINDS: Final = RESERVED | _public(Object) | _ARGUMENTS_OF_NEW
"""What no section of a kind may be called: besides, ``new`` takes it, or it is part of every object."""


def attribute_name(wire: str, taken: Container[str] = RESERVED) -> str:
    """The attribute for a field: ``clusterIPs`` becomes ``cluster_ips``, ``continue`` ``continue_``.

    Args:
        wire: The field's name on the wire.
        taken: What it must not be called; such a name gets an underscore at its end.
    """
    singular = _PLURAL_ACRONYM.sub(
        lambda found: found[1].capitalize() + "s", _NOT_A_NAME.sub("_", wire).strip("_")
    )
    name = _WORD_BREAK.sub("_", singular).lower()
    if not name or name[0].isdigit():
        name = f"field_{name}"
    while keyword.iskeyword(name) or name in taken:
        name += "_"
    return name


def is_wire_name(wire: str) -> bool:
    """Whether a field can be called so on the wire; msgspec takes no quote, backslash or control character."""
    return not _NOT_ON_THE_WIRE.search(wire)


def class_name(text: str) -> str:
    """A class name from any text: ``cron-tab`` becomes ``CronTab``; what is one already stays."""
    words = [word for word in _NOT_A_NAME.split(text) if word]
    name = "".join(word[0].upper() + word[1:] for word in words) or "Unnamed"
    if name[0].isdigit():
        name = f"Type{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def nested_class_name(path: Sequence[str]) -> str:
    """The name of a class inside another: the names on the way to it, or, if that gets long, the last of them."""
    kind, *steps = path
    while len(steps) > 1 and len(kind) + sum(map(len, steps)) > _LONG:
        steps.pop(0)
    return kind + "".join(steps)


def module_name(text: str) -> str:
    """A module name from a group or version: ``stable.example.com`` becomes ``stable_example_com``."""
    name = _NOT_A_NAME.sub("_", text).strip("_").lower() or "core"
    if name[0].isdigit():
        name = f"v{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def numbered(name: str, taken: Container[str]) -> str:
    """The name, or the first of ``name2``, ``name3`` and so on that is free."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def camel(attribute: str) -> str:
    """What msgspec's ``rename="camel"`` makes of an attribute; other wire names must be spelled out."""
    first, *rest = attribute.split("_")
    return first + "".join(word.title() for word in rest)

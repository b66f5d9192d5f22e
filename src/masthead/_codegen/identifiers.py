"""Derives Python identifiers from the names of the API."""

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
    """The public attributes of a class and its metaclass."""
    return frozenset(name for name in {*dir(cls), *dir(type(cls))} if not name.startswith("_"))


RESERVED: Final = _public(Struct) | _USED_IN_BODIES | _FIRST_ARGUMENTS
"""Names that no field may have: attributes of every type, and names used in class bodies."""
RESERVED_IN_KINDS: Final = RESERVED | _public(Object) | _ARGUMENTS_OF_NEW
"""Names that no field of a kind may have: also the arguments of ``new`` and the fields of every object."""


def attribute_name(wire: str, taken: Container[str] = RESERVED) -> str:
    """The attribute of a field: ``cluster_ips`` for ``clusterIPs``, ``continue_`` for ``continue``.

    Args:
        wire: The field's name on the wire.
        taken: Names that are taken; an underscore is appended to such a name.
    """
    # clusterIPs becomes cluster_ips, not cluster_i_ps.
    singular = _PLURAL_ACRONYM.sub(lambda found: found[1].capitalize() + "s", _NOT_A_NAME.sub("_", wire).strip("_"))
    name = _WORD_BREAK.sub("_", singular).lower()
    if not name or name[0].isdigit():
        name = f"field_{name}"
    # An underscore at the end, as PEP 8 recommends for keywords.
    while keyword.iskeyword(name) or name in taken:
        name += "_"
    return name


def is_wire_name(wire: str) -> bool:
    """Whether msgspec accepts a field's name on the wire: no quotes, backslashes or control characters."""
    return not _NOT_ON_THE_WIRE.search(wire)


def class_name(text: str) -> str:
    """A class name from any text: ``CronTab`` for ``cron-tab``. A valid class name is unchanged."""
    words = [word for word in _NOT_A_NAME.split(text) if word]
    name = "".join(word[0].upper() + word[1:] for word in words) or "Unnamed"
    if name[0].isdigit():
        name = f"Type{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def nested_class_name(path: Sequence[str]) -> str:
    """The name of a nested class: the names along its path, or the last of them if that is too long."""
    kind, *steps = path
    # The outermost steps say least about a nested type.
    while len(steps) > 1 and len(kind) + sum(map(len, steps)) > _LONG:
        steps.pop(0)
    return kind + "".join(steps)


def module_name(text: str) -> str:
    """A module name from a group or version: ``stable_example_com`` for ``stable.example.com``."""
    name = _NOT_A_NAME.sub("_", text).strip("_").lower() or "core"
    if name[0].isdigit():
        name = f"v{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def numbered(name: str, taken: Container[str]) -> str:
    """The name, or the first of ``name2``, ``name3`` and so on that is not taken."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def camel(attribute: str) -> str:
    """The wire name that msgspec's ``rename="camel"`` gives an attribute; other names must be declared."""
    first, *rest = attribute.split("_")
    return first + "".join(word.title() for word in rest)

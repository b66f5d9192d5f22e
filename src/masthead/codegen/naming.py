"""What things are called in Python."""

from __future__ import annotations

import keyword
import re
from typing import Final

from masthead.meta.object import Object, ObjectList

# clusterIPs is a word and a plural acronym, not "cluster", "IP" and "s".
_PLURAL_ACRONYM: Final = re.compile(r"([A-Z]{2,})s(?=[A-Z]|$)")
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=V[0-9])")
_NOT_A_NAME: Final = re.compile(r"[^0-9A-Za-z]+")

_METHODS: Final = {name for cls in (Object, ObjectList) for name in dir(cls) if not name.startswith("__")}
_USED_IN_BODIES: Final = {"bool", "bytes", "dict", "field", "float", "int", "list", "str"}
RESERVED: Final = frozenset(_METHODS - {"api_version", "kind", "metadata", "items"} | _USED_IN_BODIES)
"""What a field must not be called: every object has it already, or the class body needs the name itself."""


def attribute_name(wire: str) -> str:
    """The attribute for a field: ``clusterIPs`` becomes ``cluster_ips``, ``continue`` ``continue_``."""
    singular = _PLURAL_ACRONYM.sub(
        lambda found: found[1].capitalize() + "s", _NOT_A_NAME.sub("_", wire).strip("_")
    )
    name = _WORD_BREAK.sub("_", singular).lower()
    if not name or name[0].isdigit():
        name = f"field_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def class_name(text: str) -> str:
    """A class name from any text: ``cron-tab`` becomes ``CronTab``; what is one already stays."""
    words = [word for word in _NOT_A_NAME.split(text) if word]
    name = "".join(word[0].upper() + word[1:] for word in words) or "Unnamed"
    if name[0].isdigit():
        name = f"Type{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def module_name(text: str) -> str:
    """A module name from a group or version: ``stable.example.com`` becomes ``stable_example_com``."""
    name = _NOT_A_NAME.sub("_", text).strip("_").lower() or "core"
    if name[0].isdigit():
        name = f"v{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def camel(attribute: str) -> str:
    """What msgspec's ``rename="camel"`` makes of an attribute; other wire names must be spelled out."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)

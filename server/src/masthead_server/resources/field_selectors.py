"""The fields that field selectors may name, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind

__all__ = ["NAME", "NAMESPACE", "FieldReader", "SelectableFields", "count_at", "flag_at", "texts_at"]

NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"
FieldReader: TypeAlias = Callable[[Plain], str]
"""Returns the value of a field of a stored object; empty if it is missing."""

_GENERIC: Final = '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'
_SPECIFIC: Final = "field label not supported: {field}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectableFields:
    """The fields of one resource that a field selector may name.

    Attributes:
        readers: How each field is read, besides the name and the namespace.
        has_namespace: Whether ``metadata.namespace`` may be named. Most cluster-scoped resources allow it.
        unsupported: The message about any other field, if it is not one of the two common ones.
    """

    readers: Mapping[str, FieldReader] = field(default_factory=dict[str, FieldReader])
    has_namespace: bool = True
    unsupported: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Every field that a selector may name."""
        return frozenset({NAME, *self.readers, *((NAMESPACE,) if self.has_namespace else ())})

    def values(self, obj: Plain) -> dict[str, str]:
        """Return the value of every field of a stored object; a field that is missing is empty."""
        meta = part(obj, "metadata")
        values = {NAME: text(meta, "name"), NAMESPACE: text(meta, "namespace")}
        for name, read in self.readers.items():
            values[name] = read(obj)
        return values

    def unsupported_message(self, name: str, gvk: GroupVersionKind) -> str:
        """Return kube-apiserver's message about an unsupported field of a selector."""
        message = self.unsupported or (_SPECIFIC if self.readers else _GENERIC)
        return message.format(field=name, quoted=quoted(name), group=gvk.group, version=gvk.version)


CUSTOM_RESOURCE_FIELDS: Final = SelectableFields(unsupported=_SPECIFIC)
"""The fields of a custom resource that declares none."""


def texts_at(*paths: str) -> dict[str, FieldReader]:
    """Return readers of text fields that lie where their names say."""
    return {path: text_at(path) for path in paths}


def text_at(path: str) -> FieldReader:
    """Return a reader of the text at a path of one or two steps."""
    owner, _, name = path.rpartition(".")

    def read(obj: Plain) -> str:
        found = (part(obj, owner) if owner else obj).get(name)
        return found if isinstance(found, str) else ""

    return read


def flag_at(path: str) -> FieldReader:
    """Return a reader of the boolean at a path of two steps."""
    owner, _, name = path.rpartition(".")
    return lambda obj: "true" if part(obj, owner).get(name) is True else "false"


def count_at(path: str) -> FieldReader:
    """Return a reader of the number at a path of two steps."""
    owner, _, name = path.rpartition(".")
    return lambda obj: str(part(obj, owner).get(name) or 0)

"""Descriptions of built-in types and fields: the docstrings of ``masthead.api``, read from its source.

Docstrings of attributes exist nowhere else. Where the source is missing, as in a frozen program, there are no
descriptions.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["OBJECT_FIELDS", "TypeDescription", "describe_schema", "read_descriptions"]

_SCHEMA: Final = re.compile(r"io\.k8s\.(?:[a-z0-9-]+\.)*([a-z0-9]+)\.(v[0-9][a-z0-9]*)\.([A-Za-z0-9]+)")
"""The name of a built-in schema: ``io.k8s.api.apps.v1.Deployment``. The groups are the folders of ``masthead.api``."""
_META: Final = ("_meta/metadata.py", "_meta/v1.py")
OBJECT_FIELDS: Final[Mapping[str, str]] = {
    "apiVersion": "The group and version of this type, such as `apps/v1`.",
    "kind": "The name of this type, such as `Deployment`.",
    "metadata": "The name, namespace, labels, owners and whatever else all objects have.",
}
"""About the fields of all kinds, custom ones included."""
_SNAKE: Final = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`")
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_SENTENCE: Final = re.compile(r"(?<=\.) ")
_ABOUT_PYTHON: Final = re.compile(r"\bIn Python |\bnever None\b|\bNone until\b|\bdecoded lazily\b")
"""Marks of sentences that help only those who write programs."""
_MODULE: Final = re.compile(r"; `masthead\.[^`]*`[^;.]*")
"""The end of a sentence that refers to a module."""


@dataclass(frozen=True, slots=True)
class TypeDescription:
    """The documentation of a type, from its class.

    Attributes:
        text: About the type; empty if it has no docstring.
        fields: About its fields, by their names on the wire.
    """

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])


_UNKNOWN: Final = TypeDescription()


def describe_schema(name: str) -> TypeDescription:
    """Return the description of a built-in schema; an empty one for all others.

    Args:
        name: Its name in the OpenAPI document, such as ``io.k8s.api.apps.v1.Deployment``.
    """
    found = _SCHEMA.fullmatch(name)
    if found is None:
        return _UNKNOWN
    group, version, kind = found.groups()
    paths = _META if (group, version) == ("meta", "v1") else (f"api/{group}/{version}.py",)
    return next((types[kind] for types in map(_read_module, paths) if kind in types), _UNKNOWN)


@cache
def _read_module(path: str) -> Mapping[str, TypeDescription]:
    # A pyc without source, or a module that a newer server's documents name.
    try:
        source = pkgutil.get_data("masthead", path)
    except OSError:
        return {}
    return read_descriptions(source.decode()) if source is not None else {}


def read_descriptions(source: str) -> dict[str, TypeDescription]:
    """Return the descriptions of the classes of a module."""
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return {node.name: _describe_class(node) for node in classes}


def _describe_class(node: ast.ClassDef) -> TypeDescription:
    found = list(_documented_fields(node))
    wire_names = {attribute: wire for attribute, wire, _ in found}
    docstring = ast.get_docstring(node) or ""
    return TypeDescription(
        _as_text(docstring, wire_names),
        {wire: _as_text(text, wire_names) for _, wire, text in found},
    )


def _documented_fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield the attribute, the name on the wire and the docstring of each field that has one."""
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        match following:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield statement.target.id, _wire_name(statement), inspect.cleandoc(text)
            case _:
                pass


def _wire_name(statement: ast.AnnAssign) -> str:
    # Irregular names are declared: field(name="podIPs").
    if isinstance(statement.value, ast.Call):
        for keyword in statement.value.keywords:
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    assert isinstance(statement.target, ast.Name)
    return _camel(statement.target.id)


def _camel(attribute: str) -> str:
    first, *rest = attribute.split("_")
    return first + "".join(word.title() for word in rest)


def _as_paragraph(lines: str) -> str:
    sentences = _SENTENCE.split(_MODULE.sub("", " ".join(lines.split())))
    return " ".join(sentence for sentence in sentences if not _ABOUT_PYTHON.search(sentence))


def _as_text(docstring: str, wire_names: Mapping[str, str]) -> str:
    """Join the lines of each paragraph, call fields as manifests do, and leave out notes about Python."""
    paragraphs = map(_as_paragraph, _PARAGRAPH.split(docstring.strip()))
    return _SNAKE.sub(
        lambda found: f"`{wire_names.get(found[1]) or _camel(found[1])}`",
        "\n\n".join(paragraphs),
    )

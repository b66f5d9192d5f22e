"""The text that a user edits: objects, below comments that say why it is open again. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from masthead._cli.go_yaml import dump
from masthead._errors.control_characters import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.plain import Plain

__all__ = ["Reason", "add_header", "compose", "has_content", "is_same", "parse", "strip_header"]

_HEADER: Final = """\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""
"""In kubectl's words: scripts that act as editors look for them."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a text is edited again.

    Attributes:
        line: The problem.
        details: The problem of each field.
    """

    line: str
    details: tuple[str, ...] = ()

    def as_comment(self) -> str:
        """The lines of the comment."""
        colon = ":" if self.details else ""
        lines = [f"{self.line}{colon}", *(f"* {detail}" for detail in self.details)]
        # A message of the server may have several lines, or control the terminal.
        return "".join(f"# {line}\n" for line in escape_controls("\n".join(lines)).split("\n")) + "#\n"


def compose(objects: Sequence[Plain], form: str) -> str:
    """Return objects as text; several are a list.

    Args:
        objects: The objects.
        form: ``yaml`` or ``json``.
    """
    content = objects[0] if len(objects) == 1 else _list_of(objects)
    return dump(content) if form == "yaml" else json.dumps(content, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def _list_of(objects: Sequence[Plain]) -> Plain:
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": list(objects)}


def add_header(text: str, reasons: Sequence[Reason]) -> str:
    """Put the comments above a text."""
    return _HEADER + "".join(reason.as_comment() for reason in reasons) + text


def strip_header(text: str) -> str:
    """A text without the comments at its beginning. Others may belong to values, and stay."""
    lines = text.splitlines(keepends=True)
    # Only as far as they reach without a gap: lines of a script may begin so, too.
    at = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[at:])


def has_content(text: str) -> bool:
    """Whether a text has more than comments and empty lines."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def is_same(one: str, other: str) -> bool:
    """Whether two texts have the same content, apart from comments; invalid ones are compared as text."""
    from masthead._meta.yaml import load_all
    from masthead.errors import DecodeError

    try:
        return load_all(one) == load_all(other)
    except DecodeError:
        return strip_header(one) == strip_header(other)


def parse(text: str) -> list[Plain]:
    """Read the objects of an edited text.

    Raises:
        DecodeError: If it is neither YAML nor JSON, or has something else than objects.
    """
    from masthead._meta.yaml import load_all
    from masthead.errors import DecodeError

    found: list[Plain] = []
    for document in load_all(text):
        if not isinstance(document, dict):
            raise DecodeError("a document is no object")
        fields = cast("Plain", document)
        # Several objects were opened as a list, which the user may have divided.
        is_list = fields.get("kind") == "List" and isinstance(fields.get("items"), list)
        for item in cast("list[object]", fields["items"]) if is_list else [fields]:
            if not isinstance(item, dict) or not isinstance(cast("Plain", item).get("metadata"), dict):
                raise DecodeError("an object has no metadata")
            found.append(cast("Plain", item))
    return found

"""Objects, lists and outputs of commands as notebooks show them: HTML of bounded length, without secrets."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from masthead._meta.plain import has, part, text
from masthead._meta.redacted_repr import LAST_APPLIED
from masthead._meta.yaml import dump
from masthead._printers.table import table

if TYPE_CHECKING:
    from masthead._meta.object import Object, ObjectList
    from masthead._meta.plain import Plain

__all__ = ["list_html", "object_html", "output_html"]

_MAX_CHARACTERS: Final = 50_000
_HIDDEN: Final = "(hidden)"


def object_html(obj: Object) -> str:
    """An object as YAML, without managedFields and without the values of a Secret.

    Args:
        obj: The object.
    """
    data = obj.to_dict()
    metadata = {name: value for name, value in part(data, "metadata").items() if name != "managedFields"}
    # Notebooks are saved with their outputs, and shared.
    if text(data, "kind") == "Secret":
        data = _without_values(data)
        metadata["annotations"] = _without_last_applied(part(metadata, "annotations"))
    return _preformatted(dump({**data, "metadata": {name: value for name, value in metadata.items() if value}}))


def list_html(objects: ObjectList[Object]) -> str:
    """A list as a table of at most 200 rows; with namespaces, if there are several."""
    # The column would repeat one word in every row otherwise.
    namespaces = {obj.metadata.namespace for obj in objects}
    return table(objects, namespaces=len(namespaces) > 1)._repr_html_()  # pyright: ignore[reportPrivateUsage]


def output_html(output: str, errors: str, exit_code: int) -> str:
    """The output of a command: stdout, stderr, and the exit code unless it is 0."""
    ending = f"\n(exit code {exit_code})" if exit_code else ""
    return _preformatted("\n".join(filter(None, (output.rstrip("\n"), errors.rstrip("\n")))) + ending)


def _without_values(data: Plain) -> Plain:
    maps = [name for name in ("data", "stringData") if has(data, name)]
    return {**data, **{name: dict.fromkeys(part(data, name), _HIDDEN) for name in maps}}


def _without_last_applied(annotations: Plain) -> Plain:
    """The annotations without the manifest of client-side apply, which repeats all values."""
    # The key goes as well: without its value it would look like a manifest that is empty.
    return {key: value for key, value in annotations.items() if key != LAST_APPLIED}


def _preformatted(content: str) -> str:
    # A browser becomes slow with megabytes of text.
    shown = content[:_MAX_CHARACTERS]
    rest = f"\n... {len(content) - len(shown)} more characters" if len(shown) < len(content) else ""
    return f"<pre>{html.escape(shown)}{rest}</pre>"

"""Values in error texts, as Go writes them: maps by the order of their keys, empty lists and maps as they were sent.

The server drops empty lists and maps when it decodes an object, because Go writes most of them as absent.
kube-apiserver still has them while it validates: its messages show ``[]`` and ``{}`` where a client sent them, and
``null`` where it did not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from masthead._schema.errors import FieldError
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


_MAPS: Final = frozenset(
    {
        "allocatable",
        "annotations",
        "capacity",
        "consumedcapacity",
        "data",
        "hard",
        "labels",
        "limits",
        "matchlabels",
        "nodeselector",
        "overhead",
        "requests",
        "volumeattributes",
    }
)
"""Fields that are maps, by their names in lower case; all other objects are structs, which keep their order."""


def write_as_go(errors: Errors, sent: Plain) -> Errors:
    """Return errors whose values have the order of Go, and the empty values of the document that a client sent."""
    # Thousands of errors may share one large value.
    rewritten: dict[tuple[int, str], object] = {}
    return [_rewrite(error, sent, rewritten) for error in errors]


def _rewrite(error: FieldError, sent: Plain, rewritten: dict[tuple[int, str], object]) -> FieldError:
    if isinstance(error.value, str | int | float):
        return error
    key = id(error.value), error.field
    if key not in rewritten:
        name = error.field.rpartition(".")[2]
        rewritten[key] = _sort_maps(_restore(error.value, _find(sent, error.field)), name)
    return replace(error, value=rewritten[key])


def _sort_maps(shown: object, name: str = "") -> object:
    if isinstance(shown, list):
        return [_sort_maps(item) for item in cast("list[object]", shown)]
    if not isinstance(shown, dict):
        return shown
    found = cast("Plain", shown)
    ordered = sorted(found) if name.lower() in _MAPS else found
    return {key: _sort_maps(found[key], key) for key in ordered}


def _find(sent: object, path: str) -> object:
    """Return what a document has at a path, None for nothing."""
    for name, index in _STEP.findall(path):
        if isinstance(sent, list) and index.isdigit():
            found = cast("list[object]", sent)
            sent = found[int(index)] if int(index) < len(found) else None
        elif isinstance(sent, dict):
            sent = cast("Plain", sent).get(name or index)
        else:
            return None
    return sent


def _restore(shown: object, sent: object) -> object:
    if shown is None:
        return sent if sent in ([], {}) else None
    result = shown
    if isinstance(shown, dict) and isinstance(sent, dict):
        # Go's names of fields differ from those in JSON by their capitals.
        names = {name.lower(): value for name, value in cast("Plain", sent).items()}
        result = {name: _restore(value, names.get(name.lower())) for name, value in cast("Plain", shown).items()}
    elif isinstance(shown, list) and isinstance(sent, list):
        items, sources = cast("list[object]", shown), cast("list[object]", sent)
        if len(items) == len(sources):
            result = [_restore(item, source) for item, source in zip(items, sources, strict=True)]
    return result

"""Empty lists and maps in error texts.

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


def restore_empty_values(errors: Errors, sent: Plain) -> Errors:
    """Return errors whose values show the empty lists and maps of the document that a client sent."""
    return [_restore_error(error, sent) for error in errors]


def _restore_error(error: FieldError, sent: Plain) -> FieldError:
    is_simple = isinstance(error.value, str | int | float)
    return error if is_simple else replace(error, value=_restore(error.value, _find(sent, error.field)))


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

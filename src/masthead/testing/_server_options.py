"""The options of servers that tests choose by name."""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["options_problem"]


def options_problem(owner: str, options: Iterable[str]) -> str:
    """Describe the first option that `masthead.server.run` does not have; empty if it has them all.

    Args:
        owner: Who has the options, for the message.
        options: Their names.
    """
    import masthead.server

    known = inspect.signature(masthead.server.run).parameters
    unknown = next((name for name in options if name not in known), None)
    if unknown is None:
        return ""
    near = difflib.get_close_matches(unknown, known, n=1)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    return f"{owner} has no option {unknown!r}{hint}; masthead.server.run has {', '.join(known)}"

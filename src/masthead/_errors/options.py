"""The error for a keyword that a call does not take."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["explain_options"]

_SYNONYMS: Final[Mapping[str, str]] = {
    "chunk_size": "page_size",
    "field": "field_selector",
    "fields": "field_selector",
    "label": "label_selector",
    "labels": "label_selector",
    "manager": "field_manager",
    "match_labels": "label_selector",
    "owner": "field_manager",
    "page_token": "continue_",
    "request_timeout": "timeout",
    "selector": "label_selector",
    "since": "resource_version",
    "token": "continue_",
    "validate": "field_validation",
    "version": "resource_version",
}
"""Names in other clients and in kubectl, where spelling alone does not lead to ours."""


def explain_options(
    error: TypeError,
    call: str,
    takes: Callable[..., object],
    options: Mapping[str, object],
    hint: Callable[[str], str] = lambda _: "",
) -> TypeError:
    """Return the error for unknown options, with the name of the call and the nearest option.

    Args:
        error: The error of the class; returned unchanged if no option is unknown.
        call: The call as the user writes it: ``pods.list()``.
        takes: The class whose parameters are the options.
        options: The options of the call.
        hint: Returns what to write instead of an option; empty for the nearest option.
    """
    known = list(inspect.signature(takes).parameters)
    unknown = next((name for name in options if name not in known), None)
    if unknown is None:
        return error
    advice = hint(unknown) or _nearest(unknown, known)
    return TypeError(f"{call} got an unexpected keyword argument {unknown!r}; {advice}")


def _nearest(name: str, known: list[str]) -> str:
    import difflib  # for an error only, because programs must start quickly

    # Other clients mark options with an underscore: _continue, _request_timeout.
    plain = name.strip("_").lower()
    synonym = _SYNONYMS.get(plain, "")
    near = [synonym] if synonym in known else difflib.get_close_matches(plain, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"

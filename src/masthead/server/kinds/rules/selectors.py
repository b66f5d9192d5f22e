"""Selectors of labels, in plain data."""

from __future__ import annotations

from typing import cast

from masthead.server.kinds.rules.checks import pruned, words
from masthead.server.plain import Plain, items, part, text


def selects(selector: Plain, labels: Plain) -> bool:
    """Tell whether a selector fits labels; an empty one fits all, one that makes no sense is taken to."""
    fits = all(labels.get(key) == value for key, value in part(selector, "matchLabels").items())
    return fits and all(_meets(each, labels) for each in items(selector, "matchExpressions"))


def shown_selector(selector: Plain | None) -> object:
    """Show a selector as a message does: its fields in the API's order, without what is empty."""
    found = pruned(selector or {})
    if selector is None or not isinstance(found, dict):
        return None
    known = cast("Plain", found)
    return {field: known[field] for field in ("matchLabels", "matchExpressions") if field in known}


def _meets(requirement: Plain, labels: Plain) -> bool:
    value, values = labels.get(text(requirement, "key")), words(requirement, "values")
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(text(requirement, "operator"), True)

"""Label selectors in plain data."""

from __future__ import annotations

from masthead_server.resources.validation.checks import shown_map, words
from masthead_server.wire.plain import Plain, items, part, text


def selects(selector: Plain, labels: Plain) -> bool:
    """Tell whether a selector matches labels; an empty one matches all, and so does an invalid one."""
    if not part(selector, "matchLabels").items() <= labels.items():
        return False
    return all(_meets(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def shown_selector(selector: Plain | None) -> Plain | None:
    """Return a selector for a message: its fields in the API's order, without empty ones."""
    if selector is None:
        return None
    shown: Plain = {}
    if selector.get("matchLabels"):
        shown["matchLabels"] = shown_map(selector["matchLabels"])
    if selector.get("matchExpressions"):
        shown["matchExpressions"] = [
            _format_requirement(match_expression) for match_expression in items(selector, "matchExpressions")
        ]
    return shown


def _format_requirement(requirement: Plain) -> Plain:
    shown: Plain = {field: text(requirement, field) for field in ("key", "operator")}
    values = words(requirement, "values")
    return {**shown, "values": values} if values else shown


def _meets(requirement: Plain, labels: Plain) -> bool:
    value, values = labels.get(text(requirement, "key")), words(requirement, "values")
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(text(requirement, "operator"), True)

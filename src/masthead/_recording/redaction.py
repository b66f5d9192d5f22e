"""Which values of objects a recording leaves out.

A rule names a resource and a path: ``secrets:data.*``, ``configmaps:data[app.properties]``,
``*:metadata.annotations[example.com/token]``, ``deployments.apps:spec.template.spec.containers[*].env[*].value``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["DEFAULT_RULES", "Redaction"]

DEFAULT_RULES: Final = (
    "secrets:data.*",
    "secrets:stringData.*",
    # `kubectl apply` keeps the whole manifest there.
    "secrets:metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
)
"""The default of a recorder."""

_TEXT: Final = "REDACTED"
_BASE64: Final = "UkVEQUNURUQ="
"""The same text in base64, so that a Secret stays valid."""
_RULE: Final = re.compile(r"(\*|[a-z0-9.-]+):(.+)", re.DOTALL)
_STEP: Final = re.compile(r"\.?(?:\[([^\]]+)\]|([^.\[\]]+))")

Path = tuple[str, ...]


class Redaction:
    """Replaces values of objects.

    Args:
        rules: The rules; see the module.

    Raises:
        ArgumentError: If one is malformed.
    """

    def __init__(self, rules: Iterable[str] = DEFAULT_RULES) -> None:
        self.rules: Final = tuple(rules)
        self._paths: dict[str, list[Path]] = {}
        for rule in self.rules:
            resource, path = _parse(rule)
            self._paths.setdefault(resource, []).append(path)

    def paths_of(self, resource: str) -> Sequence[Path]:
        """The paths of a resource, ``plural.group``; empty if nothing of it is redacted."""
        return [*self._paths.get("*", ()), *self._paths.get(resource, ())]

    def apply(self, resource: str, encoded: bytes) -> bytes:
        """Return an object without the values that the rules name; the same bytes if there are none."""
        paths = self.paths_of(resource)
        if not paths:
            return encoded
        obj: object = msgspec.json.decode(encoded)
        is_changed = False
        for path in paths:
            text = _BASE64 if resource == "secrets" and path[0] == "data" else _TEXT
            # Every path, even after a change: `any` would stop at the first.
            is_changed |= _redact(obj, path, text)
        return msgspec.json.encode(obj) if is_changed else encoded


def _redact(node: object, path: Path, text: str) -> bool:
    """Replace the values at a path; return whether there were any."""
    first, rest = path[0], path[1:]
    is_changed = False
    for key in _keys_of(node, first):
        values = cast("Any", node)
        if rest:
            is_changed |= _redact(values[key], rest, text)
        else:
            values[key] = _empty(values[key], text)
            is_changed = True
    return is_changed


def _keys_of(node: object, step: str) -> Sequence[Any]:
    if isinstance(node, dict):
        fields = cast("dict[str, object]", node)
        return list(fields) if step == "*" else [step] if step in fields else []
    # Lists are entered by the wildcard alone: an index means nothing in the next state.
    return range(len(cast("list[object]", node))) if isinstance(node, list) and step == "*" else []


def _empty(value: object, text: str) -> object:
    """A value of the same type, which tells nothing."""
    if isinstance(value, str):
        return text
    return None if value is None else type(value)()


def _parse(rule: str) -> tuple[str, Path]:
    match = _RULE.fullmatch(rule)
    steps: list[str] = []
    position = 0
    path = match[2] if match is not None else ""
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            break
        steps.append(step[1] or step[2])
        position = step.end()
    if match is None or not steps or position < len(path):
        raise ArgumentError(
            f"cannot redact {rule!r}: write RESOURCE:PATH, such as secrets:data.* or "
            "*:metadata.annotations[example.com/token]",
            value=rule,
        )
    return match[1], tuple(steps)

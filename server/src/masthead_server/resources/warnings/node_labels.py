"""Warnings about deprecated labels of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.names import LABEL_VALUE
from masthead_server.wire.plain import items

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

DEPRECATED: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""The warnings about a label, by its key."""


def key_warnings(path: str, key: object) -> list[str]:
    """Warn that a key should be another one; the text repeats it."""
    problem = DEPRECATED.get(key) if isinstance(key, str) else None
    return [f"{path}: {key} is {problem}"] if problem else []


def expression_warnings(path: str, selector: Plain, *, with_values: bool = False) -> list[str]:
    """Return the warnings about the expressions that select nodes.

    Args:
        path: The selector's.
        selector: An object with ``matchExpressions``.
        with_values: Whether invalid label values are reported; not needed where they are rejected.
    """
    found: list[str] = []
    for index, expression in enumerate(items(selector, "matchExpressions")):
        at = f"{path}.matchExpressions[{index}]"
        found += key_warnings(f"{at}.key", expression.get("key"))
        if with_values:
            for number, value in enumerate(expression.get("values") or ()):
                problem = LABEL_VALUE(value)
                found += [f"{at}.values[{number}]: {value} is invalid, {item}" for item in problem]
    return found

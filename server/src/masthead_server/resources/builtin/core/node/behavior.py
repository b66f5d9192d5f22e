"""Behavior of Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.core.node.defaults import DEFAULTS
from masthead_server.resources.builtin.core.node.validation import (
    node_changes,
    node_errors,
    node_status_errors,
)
from masthead_server.resources.builtin.core.node.warnings import node_warnings
from masthead_server.resources.defaulting.disabled import dropped_on_update
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def _prepare_node(node: Plain, _allocate: Allocator) -> None:
    """Keep pods from a node until something says that it is ready."""
    spec = node.setdefault("spec", {})
    spec.pop("configSource", None)
    _forget_config(node)
    taints = items(spec, "taints")
    if not any(all(taint.get(key) == value for key, value in _NOT_READY.items()) for taint in taints):
        spec["taints"] = [*taints, dict(_NOT_READY)]


def _forget_config(node: Plain) -> None:
    """Drop the state of a feature that is gone."""
    part(node, "status").pop("config", None)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_node,
        prepare_update=dropped_on_update("spec", "configSource"),
        validate_create=node_errors,
        validate_update=node_changes,
        prepare_status=lambda new, _old, _allocate: _forget_config(new),
        validate_status=node_status_errors,
    ),
    warnings=always(node_warnings),
)

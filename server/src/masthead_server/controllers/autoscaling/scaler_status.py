"""The status of an autoscaler during a reconcile, which writes it once, at the end."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from masthead_server.wire.plain import Plain, items, part

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ScalerStatus"]


class ScalerStatus:
    """Conditions, replicas and metrics.

    Args:
        scaler: The stored autoscaler.
        now: The time, formatted.
    """

    def __init__(self, scaler: Plain, now: str) -> None:
        self._stored = part(scaler, "status")
        self._now = now
        self.content: Plain = deepcopy(self._stored)
        """The status to write."""

    @property
    def is_changed(self) -> bool:
        """Whether the status differs from the stored one."""
        return self.content != self._stored

    def set_condition(self, of_type: str, reason: str, message: str, *, is_true: bool = True) -> None:
        """Set a condition; its time changes with its status."""
        status = "True" if is_true else "False"
        conditions = items(self.content, "conditions")
        found = next((condition for condition in conditions if condition.get("type") == of_type), None)
        if found is None:
            found = {"type": of_type}
            conditions.append(found)
            self.content["conditions"] = conditions
        if found.get("status") != status:
            found["lastTransitionTime"] = self._now
        found.update(status=status, reason=reason, message=message)

    def set_replicas(self, current: int, desired: int | None, metrics: Sequence[Plain] | None) -> None:
        """Set replicas and metrics; with None, the desired replicas remain."""
        if current:
            self.content["currentReplicas"] = current
        else:
            self.content.pop("currentReplicas", None)
        if desired is not None:
            self.content["desiredReplicas"] = desired
        self.content.setdefault("desiredReplicas", 0)
        self.content["currentMetrics"] = None if metrics is None else list(metrics)

    def note_scaling(self) -> None:
        """Set the time of the last scaling."""
        self.content["lastScaleTime"] = self._now

"""The condition DisruptionTarget of a pod that a controller deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import items, metadata, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["set_disruption"]

_KIND: Final = "DisruptionTarget"


def set_disruption(pod: Plain, reason: str, message: str, now: str) -> None:
    """Set the condition DisruptionTarget."""
    status = pod.setdefault("status", {})
    known = next((item for item in items(status, "conditions") if text(item, "type") == _KIND), None)
    new: Plain = {
        "type": _KIND,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    if generation := metadata(pod).get("generation"):
        new["observedGeneration"] = generation
    if known is not None:
        if text(known, "status") == "True":
            new["lastTransitionTime"] = known.get("lastTransitionTime", now)
        known.clear()
        known.update(new)
        return
    status["conditions"] = [*items(status, "conditions"), new]

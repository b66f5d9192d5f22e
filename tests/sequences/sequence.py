"""A sequence of requests to one object, as data.

Texts in braces stand for what differs from server to server: ``{name}`` for the object's name, ``{rv}`` for its
resourceVersion and ``{stale}`` for the one before it, ``{uid}``, ``{ip}`` and ``{now}``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

APPLY = "application/apply-patch+yaml"
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Step:
    """A request.

    Attributes:
        method: Its method.
        path: Its path, with the query.
        body: What is sent, as JSON.
        content_type: What the body is.
        agent: The user agent; whom a write counts for that names no field manager.
    """

    method: str
    path: str
    body: Any = None
    content_type: str = JSON
    agent: str = "sequence/1.0"


@dataclass(frozen=True)
class Observation:
    """What a response says, without what differs from server to server.

    Attributes:
        status: The HTTP status.
        is_new: Whether the resourceVersion is another one than before.
        warnings: The texts of the warnings.
        body: The object; of a failure, its reason, message and causes, sorted.
    """

    status: int
    is_new: bool
    warnings: list[str]
    body: Any


@dataclass
class Sequence:
    """Requests, and how the real server responds to them."""

    steps: list[Step] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)

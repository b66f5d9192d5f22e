"""One moment of the demo: all that a picture shows. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from masthead_server.demo.observation import belongs_to, is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead.api.core.v1 import Node, Pod
    from masthead_server.demo.comparison import Agreement
    from masthead_server.demo.story import Chapter
    from masthead_server.demo.tally import FaultCount

__all__ = ["AppRow", "Counters", "FaultState", "NodeRow", "Scene", "app_row", "counted", "node_row"]


class FaultState(Enum):
    """How far the fault of a chapter is."""

    COMING = "coming"
    PENDING = "pending"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class AppRow:
    """An app: its pods by version.

    Attributes:
        name: The name.
        pods: The number of pods by version, newest first.
        ready: The number of ready pods.
    """

    name: str
    pods: Sequence[tuple[str, int]]
    ready: int

    @property
    def total(self) -> int:
        """The number of pods."""
        return sum(count for _, count in self.pods)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node, and the number of its pods."""

    name: str
    is_cordoned: bool
    pods: int


@dataclass(frozen=True, slots=True)
class Counters:
    """The numbers since the start.

    Attributes:
        events: Notifications of handlers.
        reconnects: Watches that resumed where another had ended.
        relists: Lists after the first.
        reconciles: Calls of the controller.
        lag: Seconds from a write to its notification, now; None before the first.
        worst_lag: The longest so far.
        checks: Comparisons of caches and cluster.
        equal_checks: Comparisons without a difference.
    """

    events: int = 0
    reconnects: int = 0
    relists: int = 0
    reconciles: int = 0
    lag: float | None = None
    worst_lag: float = 0.0
    checks: int = 0
    equal_checks: int = 0


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment.

    Attributes:
        seconds: The time since the start.
        chapters: All chapters.
        current: The current one; None before the first and after the last.
        finished: How many are over.
        progress: The progress of its task, in one sentence.
        fault_state: The state of the fault of the chapter.
        faults: The rows of faults.
        apps: The apps, as the cache has them.
        nodes: The nodes, as the cache has them.
        counters: The numbers.
        agreement: The last comparison of caches and cluster; None before the first.
        pods: The cached pods, for large terminals.
    """

    seconds: float
    chapters: Sequence[Chapter]
    current: Chapter | None
    finished: int
    progress: str
    fault_state: FaultState
    faults: Sequence[FaultCount]
    apps: Sequence[AppRow]
    nodes: Sequence[NodeRow]
    counters: Counters
    agreement: Agreement | None
    pods: Mapping[str, Pod]


def app_row(name: str, pods: Iterable[Pod]) -> AppRow:
    """Count the pods of an app; terminating pods do not count."""
    own = [pod for pod in pods if belongs_to(pod, name) and not pod.metadata.deletion_timestamp]
    versions = Counter((pod.spec.containers[0].image or "").rpartition(":")[2] for pod in own)
    # By length first: v10 is newer than v9.
    newest_first = sorted(versions.items(), key=lambda found: (len(found[0]), found[0]), reverse=True)
    return AppRow(name, newest_first, sum(map(is_ready, own)))


def node_row(node: Node, pods: int) -> NodeRow:
    """The row of a node."""
    return NodeRow(node.metadata.name or "", bool(node.spec.unschedulable), pods)


def counted(number: int, noun: str) -> str:
    """A number and its noun: ``1 object``, ``1,200 objects``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

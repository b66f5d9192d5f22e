"""Scores of feasible nodes: weighted sums of several scores from 0 to 100.

Image locality is not scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.labels import matches_node
from masthead_server.scheduling.taints import is_tolerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.taints import Toleration

__all__ = ["MAX_SCORE", "normalize", "score_affinity", "score_resources", "score_taints"]

MAX_SCORE: Final = 100
_HALF: Final = MAX_SCORE // 2


def score_resources(pod: SchedulingPod, node: SchedulingNode) -> int:
    """Score a node by its free resources, and by how evenly CPU and memory are used."""
    requests = pod.requests
    cpu, memory = node.cpu, node.memory
    if not cpu or not memory:
        return _score_unevenly(pod, node)
    cpu_used, memory_used = node.scored_cpu + requests.scored_cpu, node.scored_memory + requests.scored_memory
    least = (
        ((cpu - cpu_used) * MAX_SCORE // cpu if cpu_used <= cpu else 0)
        + ((memory - memory_used) * MAX_SCORE // memory if memory_used <= memory else 0)
    ) // 2
    if not requests.cpu and not requests.memory:
        return least  # a pod without requests does not change the balance
    before = abs(min(node.cpu_used / cpu, 1.0) - min(node.memory_used / memory, 1.0)) / 2
    after = (
        abs(min((node.cpu_used + requests.cpu) / cpu, 1.0) - min((node.memory_used + requests.memory) / memory, 1.0))
        / 2
    )
    balance = int((1 - after) * MAX_SCORE) - int((1 - before) * MAX_SCORE)
    return least + _HALF + int((_HALF + balance) / 2)


def _score_unevenly(pod: SchedulingPod, node: SchedulingNode) -> int:
    """Score a node that has only CPU, only memory, or neither."""
    requests = pod.requests
    offers = (
        (node.cpu, node.scored_cpu + requests.scored_cpu),
        (node.memory, node.scored_memory + requests.scored_memory),
    )
    scores = [max(0, (capacity - used) * MAX_SCORE // capacity) for capacity, used in offers if capacity]
    least = sum(scores) // len(scores) if scores else 0
    return least if not requests.cpu and not requests.memory else least + _HALF + _HALF // 2


def score_affinity(pod: SchedulingPod, nodes: Iterable[SchedulingNode]) -> list[int]:
    """Score nodes by the preferred node affinity of a pod."""
    preferred = pod.affinity.preferred_nodes
    sums = [
        sum(weight for weight, term in preferred if matches_node((term,), node.name, node.labels)) for node in nodes
    ]
    return normalize(sums)


def score_taints(pod: SchedulingPod, nodes: Sequence[SchedulingNode]) -> list[int]:
    """Score nodes by untolerated taints with the effect PreferNoSchedule."""
    tolerations = [item for item in pod.tolerations if item.effect in {"", "PreferNoSchedule"}]
    return normalize([_count_untolerated(node, tolerations) for node in nodes], is_reversed=True)


def _count_untolerated(node: SchedulingNode, tolerations: Sequence[Toleration]) -> int:
    return sum(not is_tolerated(taint, tolerations) for taint in node.soft_taints)


def normalize(sums: Sequence[int], *, is_reversed: bool = False) -> list[int]:
    """Scale sums so that the largest one is 100, or with `is_reversed` 0."""
    largest = max(sums, default=0)
    if not largest:
        return [MAX_SCORE if is_reversed else 0] * len(sums)
    scaled = [MAX_SCORE * value // largest for value in sums]
    return [MAX_SCORE - value for value in scaled] if is_reversed else scaled

"""Counts of pods by domain that are updated pod by pod agree with a count of all pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.server.scheduling.scheduling_objects import make_node_facts, make_pod

from masthead_server.scheduling.pod_affinity import PodAffinityCheck
from masthead_server.scheduling.state import SchedulingState
from masthead_server.scheduling.topology_spread import TopologySpreadCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NAMESPACES = {"default": {"team": "a"}, "other": {"team": "b"}}
NODE_NAMES = ("one", "two", "three")
KEYS = st.sampled_from([ZONE, HOST])
LABELS = st.fixed_dictionaries({"app": st.sampled_from(["web", "db"])}, optional={"version": st.just("1")})
SELECTORS = st.sampled_from(
    [
        {"matchLabels": {"app": "web"}},
        {"matchExpressions": [{"key": "version", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
    ]
)
TERMS = st.fixed_dictionaries(
    {"topologyKey": KEYS, "labelSelector": SELECTORS},
    optional={
        "namespaces": st.just(["other"]),
        "namespaceSelector": st.sampled_from([{}, {"matchLabels": {"team": "b"}}]),
    },
)
AFFINITIES = st.fixed_dictionaries(
    {},
    optional={
        "podAffinity": st.fixed_dictionaries({REQUIRED: st.lists(TERMS, min_size=1, max_size=2)}),
        "podAntiAffinity": st.fixed_dictionaries({REQUIRED: st.lists(TERMS, min_size=1, max_size=2)}),
    },
)
CONSTRAINTS = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 2),
        "topologyKey": KEYS,
        "whenUnsatisfiable": st.just("DoNotSchedule"),
        "labelSelector": SELECTORS,
    },
    optional={"minDomains": st.integers(1, 3), "nodeTaintsPolicy": st.just("Honor")},
)
NODES = st.fixed_dictionaries(
    {},
    optional={
        name: st.tuples(
            st.sampled_from([{}, {ZONE: "a"}, {ZONE: "b"}]),
            st.sampled_from([[], [{"key": "gpu", "effect": "NoSchedule"}]]),
        )
        for name in NODE_NAMES
    },
)
SLOTS = st.integers(0, 5)
"""The same slot again removes its pod."""
STEPS = st.lists(
    st.tuples(SLOTS, st.sampled_from(NODE_NAMES), st.sampled_from(sorted(NAMESPACES)), LABELS, AFFINITIES), max_size=14
)
Step = tuple[int, str, str, dict[str, str], Any]
Check = PodAffinityCheck | TopologySpreadCheck


def build_state(nodes: Any) -> SchedulingState:
    """Build a state with nodes and namespaces."""
    state = SchedulingState()
    state.namespaces.update(NAMESPACES)
    for name, (labels, taints) in nodes.items():
        state.set_node(name, make_node_facts(name, labels, taints=taints))
    return state


def compare(state: SchedulingState, steps: Sequence[Step], make: Callable[[], Check]) -> None:
    """Adjust a check pod by pod, and compare it with one that counts the same pods in the state."""
    incremental = make()
    placed: dict[int, tuple[SchedulingPod, SchedulingNode]] = {}
    for slot, name, namespace, labels, affinity in steps:
        node = state.node(name)
        if slot in placed:
            pod, before = placed.pop(slot)
            incremental.adjust(pod, before, -1)
            assert state.displace(pod.ref)
        elif node is not None:
            pod = make_pod(f"pod-{slot}", namespace=namespace, labels=labels, affinity=affinity, nodeName=name)
            placed[slot] = pod, node
            incremental.adjust(pod, node, 1)
            state.place(pod)
        recount = make()
        for other in state.nodes:
            assert incremental.check(other) == recount.check(other)


@settings(deadline=None)
@given(NODES, STEPS, LABELS, st.lists(CONSTRAINTS, min_size=1, max_size=2))
def test_pods_by_domain_of_a_spread_constraint(
    nodes: Any, steps: list[Step], labels: dict[str, str], constraints: list[Any]
) -> None:
    state = build_state(nodes)
    pod = make_pod("asking", labels=labels, topologySpreadConstraints=constraints)
    compare(state, steps, lambda: TopologySpreadCheck(pod, pod.constraints, state))


@settings(deadline=None)
@given(NODES, STEPS, LABELS, AFFINITIES)
def test_peers_of_a_pod_with_affinity(nodes: Any, steps: list[Step], labels: dict[str, str], affinity: Any) -> None:
    state = build_state(nodes)
    pod = make_pod("asking", labels=labels, affinity=affinity)
    compare(state, steps, lambda: PodAffinityCheck(pod, state))


@settings(deadline=None)
@given(STEPS, SELECTORS)
def test_pods_by_node_of_a_selector(steps: list[Step], written: Any) -> None:
    state = build_state({})
    constraint = {"topologyKey": HOST, "labelSelector": written}
    selector = make_pod("asking", topologySpreadConstraints=[constraint]).constraints[0].selector
    assert not state.count_by_node("default", selector)
    placed: dict[ObjectRef, SchedulingPod] = {}
    for slot, name, namespace, labels, _ in steps:
        pod = make_pod(f"pod-{slot}", namespace=namespace, labels=labels, nodeName=name)
        if placed.pop(pod.ref, None) is not None:
            state.displace(pod.ref)
        else:
            placed[pod.ref] = pod
            state.place(pod)
        expected: dict[str, int] = {}
        for other in placed.values():
            if other.namespace == "default" and selector.matches(other.labels):
                expected[other.node] = expected.get(other.node, 0) + 1
        assert state.count_by_node("default", selector) == expected


@settings(deadline=None)
@given(NODES, STEPS, LABELS, TERMS)
def test_a_term_of_anti_affinity_keeps_both_sides_apart(
    nodes: Any, steps: list[Step], labels: dict[str, str], term: Any
) -> None:
    """The check agrees with the definition: no pod of the term in the same domain, in either direction."""
    state = build_state(nodes)
    placed: dict[ObjectRef, SchedulingPod] = {}
    asking = make_pod("asking", labels=labels, affinity={"podAntiAffinity": {REQUIRED: [term]}})

    def has_unwanted(pod: SchedulingPod, other: SchedulingPod, here: SchedulingNode, there: str) -> bool:
        """Whether a term of a pod is about another one, and both places are in one domain."""
        place = state.node(there)
        return place is not None and any(
            term.covers(other.namespace, NAMESPACES[other.namespace])
            and term.selector.matches(other.labels)
            and term.topology_key in here.labels
            and here.labels[term.topology_key] == place.labels.get(term.topology_key)
            for term in pod.affinity.anti_required
        )

    for slot, name, namespace, other_labels, affinity in steps:
        pod = make_pod(f"pod-{slot}", namespace=namespace, labels=other_labels, affinity=affinity, nodeName=name)
        state.place(pod)
        placed[pod.ref] = pod
    check = PodAffinityCheck(asking, state)
    for node in state.nodes:
        expected = any(
            has_unwanted(asking, other, node, other.node) or has_unwanted(other, asking, node, other.node)
            for other in placed.values()
        )
        assert (check.check(node) is not None) is expected

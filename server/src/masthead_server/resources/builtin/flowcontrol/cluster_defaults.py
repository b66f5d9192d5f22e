"""FlowSchemas and PriorityLevelConfigurations of every new cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.wire.plain import Plain

__all__ = ["flow_schemas", "priority_levels"]

_QUEUED: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "global-default": (20, 50, 128, 6),
    "leader-election": (10, 0, 16, 4),
    "node-high": (40, 25, 64, 6),
    "system": (30, 33, 64, 6),
    "workload-high": (40, 50, 128, 6),
    "workload-low": (100, 90, 128, 6),
}
"""Concurrency shares, lendable percent, number of queues and hand size of each level that queues requests."""
_EVERYONE: Final = ("Group system:unauthenticated", "Group system:authenticated")
_CONTROLLERS: Final = (
    "User system:kube-controller-manager",
    "User system:kube-scheduler",
    "ServiceAccount kube-system/*",
)
_ALL_RESOURCES: Final = "* | * | * | cluster"
_ALL_URLS: Final = "* | *"
_WORKLOAD_HIGH: Final = ("workload-high", "ByNamespace")
_FLOW_SCHEMAS: Final = (
    ("catch-all", 10000, ("catch-all", "ByUser"), _EVERYONE, (_ALL_RESOURCES,), _ALL_URLS),
    ("exempt", 1, ("exempt", ""), ("Group system:masters",), (_ALL_RESOURCES,), _ALL_URLS),
    ("global-default", 9900, ("global-default", "ByUser"), _EVERYONE, (_ALL_RESOURCES,), _ALL_URLS),
    ("kube-controller-manager", 800, _WORKLOAD_HIGH, _CONTROLLERS[:1], (_ALL_RESOURCES,), _ALL_URLS),
    ("kube-scheduler", 800, _WORKLOAD_HIGH, _CONTROLLERS[1:2], (_ALL_RESOURCES,), _ALL_URLS),
    ("kube-system-service-accounts", 900, _WORKLOAD_HIGH, _CONTROLLERS[2:], (_ALL_RESOURCES,), _ALL_URLS),
    ("probes", 2, ("exempt", ""), _EVERYONE, (), "get | /healthz /readyz /livez"),
    (
        "service-accounts",
        9000,
        ("workload-low", "ByUser"),
        ("Group system:serviceaccounts",),
        (_ALL_RESOURCES,),
        _ALL_URLS,
    ),
    (
        "system-leader-election",
        100,
        ("leader-election", "ByUser"),
        _CONTROLLERS,
        ("get create update | coordination.k8s.io | leases",),
        "",
    ),
    (
        "system-node-high",
        400,
        ("node-high", "ByUser"),
        ("Group system:nodes",),
        ("* | core | nodes nodes/status | cluster", "* | coordination.k8s.io | leases"),
        "",
    ),
    (
        "system-nodes",
        500,
        ("system", "ByUser"),
        ("Group system:nodes",),
        (_ALL_RESOURCES,),
        _ALL_URLS,
    ),
)
"""Name, precedence, priority level with the distinguisher, subjects, resource rules and URLs of each."""


def priority_levels() -> Iterator[Plain]:
    """Yield the PriorityLevelConfigurations."""
    yield _level(
        "catch-all",
        {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 5,
                "limitResponse": {"type": "Reject"},
                "lendablePercent": 0,
            },
        },
    )
    exempt = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    yield _level("exempt", {"type": "Exempt", "exempt": exempt})
    for name, (shares, lendable, queues, hand_size) in _QUEUED.items():
        queuing = {"queues": queues, "handSize": hand_size, "queueLengthLimit": 50}
        limited = {
            "nominalConcurrencyShares": shares,
            "limitResponse": {"type": "Queue", "queuing": queuing},
            "lendablePercent": lendable,
        }
        yield _level(name, {"type": "Limited", "limited": limited})


def flow_schemas(now: str) -> Iterator[Plain]:
    """Yield the FlowSchemas.

    Args:
        now: The time at which their conditions became what they are.
    """
    for name, precedence, (level, method), subjects, resources, urls in _FLOW_SCHEMAS:
        spec: Plain = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
        # Exempt requests are not queued, and so have no separate flows.
        if method:
            spec["distinguisherMethod"] = {"type": method}
        spec["rules"] = [_rule(subjects, resources, urls)]
        yield {"metadata": _metadata(name), "spec": spec, "status": {"conditions": [_condition_of_level(level, now)]}}


def _level(name: str, spec: Plain) -> Plain:
    return {"metadata": _metadata(name), "spec": spec, "status": {}}


def _metadata(name: str) -> Plain:
    return {"name": name, "generation": 1, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}}


def _rule(subjects: tuple[str, ...], resources: tuple[str, ...], urls: str) -> Plain:
    rule: Plain = {"subjects": [_subject(subject) for subject in subjects]}
    if resources:
        rule["resourceRules"] = [_resource_rule(resource) for resource in resources]
    if urls:
        verbs, _, paths = urls.partition(" | ")
        rule["nonResourceRules"] = [{"verbs": verbs.split(), "nonResourceURLs": paths.split()}]
    return rule


def _subject(written: str) -> Plain:
    kind, _, name = written.partition(" ")
    if kind == "ServiceAccount":
        namespace, _, account = name.partition("/")
        return {"kind": kind, "serviceAccount": {"namespace": namespace, "name": account}}
    return {"kind": kind, kind.lower(): {"name": name}}


def _resource_rule(written: str) -> Plain:
    """Read ``verbs | API groups | resources``, with ``| cluster`` if cluster-scoped resources are meant, too."""
    verbs, groups, resources, *scope = written.split(" | ")
    rule: Plain = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
    }
    if scope:
        rule["clusterScope"] = True
    # Go writes the field for every rule; only "*" occurs in the defaults.
    rule["namespaces"] = ["*"]
    return rule


def _condition_of_level(level: str, now: str) -> Plain:
    return {
        "type": "Dangling",
        "status": "False",
        "lastTransitionTime": now,
        "reason": "Found",
        "message": f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists',
    }

"""Evaluating an admission policy for a new pod, in the embedded server.

Times are CPU time, the minimum of several rounds.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.attributes import AdmissionAttributes, Operation
from masthead_server.admission.policies.mutating import MutatingAdmissionPolicy
from masthead_server.admission.policies.validating import ValidatingAdmissionPolicy
from masthead_server.clock import SystemClock
from masthead_server.cluster import ClusterState
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from benchmarks.harness.measure import Figures

Plain = dict[str, Any]

RULE_TARGET: Final = 100.0
"""Microseconds for a policy of one rule."""
COUNT: Final = 500
GROUP: Final = "admissionregistration.k8s.io"
SELECTORS: Final[Plain] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
RULE: Final[Plain] = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
    "scope": "*",
}
IMAGES: Final = "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))"
VARIABLES: Final = [{"name": "images", "expression": "object.spec.containers.map(c, c.image)"}]
LABEL: Final = "Object{metadata: Object.metadata{labels: {'team': namespaceObject.metadata.name}}}"
POD: Final[Plain] = {
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "registry.example.com/web:1", "resources": {}}]},
    "status": {},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = measure.parser(__doc__, repeat=20, quick=True).parse_args(arguments)
    repeat: int = 1 if options.quick else options.repeat
    best = measure.best_of(repeat, {name: _timed(run) for name, run in _cases().items()})
    rows = tuple(_row(name, figures["us"]) for name, figures in best.items())
    table = Table("policies", "CPU time for one request", (Column("us", "µs"),), rows)
    tables = unjudged([table]) if options.quick else (table,)  # one round is too little to judge by
    show(Report("policies", {"repeat": repeat}, tables))


def _row(name: str, figure: float | None) -> Row:
    target = Target("one_rule_us", figure or 0.0, RULE_TARGET) if name == "one rule" else None
    return Row(name, name, (figure,), target)


def _cases() -> dict[str, Callable[[], Awaitable[None]]]:
    return {
        "another resource": _validate({"validations": [{"expression": IMAGES}]}, resources=["services"]),
        "one rule": _validate({"validations": [{"expression": IMAGES}]}),
        "a variable": _validate(
            {"variables": VARIABLES, "validations": [{"expression": "variables.images.all(i, i != '')"}]}
        ),
        "a label": _mutate({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": LABEL}}),
    }


def _validate(spec: Plain, resources: Sequence[str] = ("pods",)) -> Callable[[], Awaitable[None]]:
    cluster = _make_cluster("validating", spec, resources)
    plugin = ValidatingAdmissionPolicy(cluster)
    attributes = _make_request(cluster)
    return lambda: plugin.validate(attributes)


def _mutate(mutation: Plain) -> Callable[[], Awaitable[None]]:
    cluster = _make_cluster("mutating", {"mutations": [mutation], "reinvocationPolicy": "Never"}, ("pods",))
    plugin = MutatingAdmissionPolicy(cluster)
    return lambda: plugin.admit(_make_request(cluster))


def _make_cluster(kind: str, spec: Plain, resources: Sequence[str]) -> ClusterState:
    cluster = ClusterState(Storage(), SystemClock(), Catalog.builtin())
    cluster.add_first_namespaces()
    constraints = {**SELECTORS, "resourceRules": [{**RULE, "resources": list(resources)}]}
    content = {
        "policies": {"failurePolicy": "Fail", "matchConstraints": constraints, **spec},
        "policybindings": {"policyName": "web", "validationActions": ["Deny"]},
    }
    for suffix, found in content.items():
        served = cluster.catalog.require(GroupVersionResource(GROUP, "v1", f"{kind}admission{suffix}"))
        cluster.write(served, "web", {"metadata": {"name": "web"}, "spec": found})
    return cluster


def _make_request(cluster: ClusterState) -> AdmissionAttributes:
    served = cluster.catalog.require(GroupVersionResource("", "v1", "pods"))
    user = UserInfo("jane")
    return AdmissionAttributes(Operation.CREATE, served, served.gvk, "default", "web", user, object=POD)


def _timed(run: Callable[[], Awaitable[None]]) -> Callable[[], Figures]:
    async def repeat() -> None:
        for _ in range(COUNT):
            await run()

    def measured() -> Figures:
        begin = time.process_time()
        asyncio.run(repeat())
        return {"us": (time.process_time() - begin) / COUNT * 1e6}

    return measured

"""A scenario for one controller, as data: objects, edits, and pod status as a scripted kubelet writes it.

Texts in braces stand for what differs from run to run: ``{ns}`` is the scenario's namespace, ``{time:-10}`` a moment
ten minutes before the scenario's first minute, ``{cron:-10}`` a daily schedule of that moment, and
``{uid:jobs/alpha}`` the uid of an object.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

PATHS = {
    "configmaps": "/api/v1",
    "endpoints": "/api/v1",
    "events": "/api/v1",
    "pods": "/api/v1",
    "replicationcontrollers": "/api/v1",
    "services": "/api/v1",
    "controllerrevisions": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "cronjobs": "/apis/batch/v1",
    "jobs": "/apis/batch/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "resourceclaims": "/apis/resource.k8s.io/v1",
    "resourceclaimtemplates": "/apis/resource.k8s.io/v1",
}
"""The namespaced resources of scenarios, and the API of each."""


@dataclass(frozen=True)
class Action:
    """One write of a scenario.

    Attributes:
        verb: ``create``, ``patch``, ``delete`` or ``evict``.
        resource: The resource, such as ``jobs``; ``nodes`` are those of the scenario alone.
        name: The name; for pods that a controller created, empty: `pick` chooses one of those `where` describes.
        body: The object or the merge patch.
        subresource: Such as ``status``.
        where: Which pods may be picked: ``active``, ``bound``, ``terminating``, ``finished`` or ``any``.
        pick: The number of the pod among them, counted round.
        query: The query of the request.
    """

    verb: str
    resource: str
    name: str = ""
    body: Any = None
    subresource: str = ""
    where: str = "active"
    pick: int = 0
    query: str = ""

    def encoded(self) -> dict[str, Any]:
        """The fields that differ from the defaults."""
        default = Action(self.verb, self.resource)
        return {name: value for name, value in vars(self).items() if name in _REQUIRED or value != vars(default)[name]}

    def __str__(self) -> str:
        return json.dumps(self.encoded(), separators=(",", ":"))


_REQUIRED = ("verb", "resource")


@dataclass(frozen=True)
class Area:
    """What the scenarios of one controller have in common.

    Attributes:
        embedded: The names of the embedded server's controllers.
        real: The names of kube-controller-manager's controllers.
        resources: The resources whose objects are compared.
        advance: Seconds by which a virtual clock is advanced after each step: delays of the controller are over then.
        quiet: Seconds without a change after which the real state counts as final.
        options: Further options of kube-controller-manager.
    """

    embedded: tuple[str, ...]
    real: tuple[str, ...]
    resources: tuple[str, ...]
    advance: float = 20.0
    quiet: float = 6.0
    options: tuple[str, ...] = ()


@dataclass
class Scenario:
    """Actions for one controller.

    Attributes:
        area: The name of the area.
        actions: What happens, one step after the other.
    """

    area: str
    actions: list[Action] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(f"  {number}: {action}" for number, action in enumerate(self.actions))

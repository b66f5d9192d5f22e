"""Conditions for ``wait_for``, and how to combine them.

::

    from masthead import conditions

    pods.wait_for("web", conditions.pod_ready() | conditions.pod_finished(), timeout=60)
    deployments.wait_for("web", conditions.deployment_rolled_out() & conditions.condition_is("Available"))
    jobs.wait_for("import", conditions.matches(lambda job: job.status.succeeded == 3, "3 pods are done"))

A condition is evaluated with the current object, or with None if it does not exist. One that can only hold for an
existing object is an `ObjectWaitCondition`, and ``wait_for`` returns that object. The ready-made ones work on typed and
unstructured objects, and decide as ``kubectl wait`` and ``kubectl rollout status`` do.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._client.conditions import ObjectWaitCondition as ObjectWaitCondition
    from masthead._client.conditions import WaitCondition as WaitCondition
    from masthead._client.conditions import condition_is as condition_is
    from masthead._client.conditions import crd_established as crd_established
    from masthead._client.conditions import crd_names_accepted as crd_names_accepted
    from masthead._client.conditions import daemon_set_rolled_out as daemon_set_rolled_out
    from masthead._client.conditions import deleted as deleted
    from masthead._client.conditions import deployment_available as deployment_available
    from masthead._client.conditions import deployment_rolled_out as deployment_rolled_out
    from masthead._client.conditions import exists as exists
    from masthead._client.conditions import field_is as field_is
    from masthead._client.conditions import job_complete as job_complete
    from masthead._client.conditions import job_failed as job_failed
    from masthead._client.conditions import job_finished as job_finished
    from masthead._client.conditions import matches as matches
    from masthead._client.conditions import pod_failed as pod_failed
    from masthead._client.conditions import pod_finished as pod_finished
    from masthead._client.conditions import pod_ready as pod_ready
    from masthead._client.conditions import pod_running as pod_running
    from masthead._client.conditions import pod_succeeded as pod_succeeded
    from masthead._client.conditions import stateful_set_rolled_out as stateful_set_rolled_out
    from masthead._client.readiness import ready as ready

_HOMES = {
    "WaitCondition": "masthead._client.conditions",
    "ObjectWaitCondition": "masthead._client.conditions",
    "condition_is": "masthead._client.conditions",
    "crd_established": "masthead._client.conditions",
    "crd_names_accepted": "masthead._client.conditions",
    "daemon_set_rolled_out": "masthead._client.conditions",
    "deleted": "masthead._client.conditions",
    "deployment_available": "masthead._client.conditions",
    "deployment_rolled_out": "masthead._client.conditions",
    "exists": "masthead._client.conditions",
    "field_is": "masthead._client.conditions",
    "job_complete": "masthead._client.conditions",
    "job_failed": "masthead._client.conditions",
    "job_finished": "masthead._client.conditions",
    "matches": "masthead._client.conditions",
    "pod_failed": "masthead._client.conditions",
    "pod_finished": "masthead._client.conditions",
    "pod_ready": "masthead._client.conditions",
    "pod_running": "masthead._client.conditions",
    "pod_succeeded": "masthead._client.conditions",
    "ready": "masthead._client.readiness",
    "stateful_set_rolled_out": "masthead._client.conditions",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

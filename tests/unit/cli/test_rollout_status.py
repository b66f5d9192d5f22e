"""The lines of ``rollout status``."""

from __future__ import annotations

import pytest

from masthead._cli.failures import CommandError
from masthead._cli.rollout_status import RolloutProgress, rollout_progress
from masthead._meta.unstructured import Unstructured

DEPLOYMENT = 'Waiting for deployment "web" rollout to finish:'
DAEMON_SET = 'Waiting for daemon set "web" rollout to finish:'
ROLLING: dict[str, object] = {"updateStrategy": {"type": "RollingUpdate"}}
PARTITIONED: dict[str, object] = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}


def workload(kind: str, spec: dict[str, object], **status: object) -> Unstructured:
    return Unstructured.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {
                "name": "web",
                "namespace": "shop",
                "generation": 2,
                "annotations": {"deployment.kubernetes.io/revision": "3"},
            },
            "spec": {"replicas": 3, **spec},
            "status": {"observedGeneration": 2, **status},
        }
    )


@pytest.mark.parametrize(
    ("kind", "spec", "status", "line"),
    [
        ("Deployment", {}, {"observedGeneration": 1}, "Waiting for deployment spec update to be observed..."),
        ("Deployment", {}, {"updatedReplicas": 1}, f"{DEPLOYMENT} 1 out of 3 new replicas have been updated..."),
        (
            "Deployment",
            {},
            {"updatedReplicas": 3, "replicas": 4},
            f"{DEPLOYMENT} 1 old replicas are pending termination...",
        ),
        (
            "Deployment",
            {},
            {"updatedReplicas": 3, "replicas": 3, "availableReplicas": 2},
            f"{DEPLOYMENT} 2 of 3 updated replicas are available...",
        ),
        ("DaemonSet", ROLLING, {"observedGeneration": 1}, "Waiting for daemon set spec update to be observed..."),
        (
            "DaemonSet",
            ROLLING,
            {"desiredNumberScheduled": 4, "updatedNumberScheduled": 1},
            f"{DAEMON_SET} 1 out of 4 new pods have been updated...",
        ),
        (
            "DaemonSet",
            ROLLING,
            {"desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberAvailable": 3},
            f"{DAEMON_SET} 3 of 4 updated pods are available...",
        ),
        ("StatefulSet", ROLLING, {"observedGeneration": 0}, "Waiting for statefulset spec update to be observed..."),
        ("StatefulSet", ROLLING, {"readyReplicas": 1}, "Waiting for 2 pods to be ready..."),
        (
            "StatefulSet",
            PARTITIONED,
            {"readyReplicas": 3, "updatedReplicas": 1},
            "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
        ),
        (
            "StatefulSet",
            ROLLING,
            {"readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"},
            "waiting for statefulset rolling update to complete 1 pods at revision b...",
        ),
    ],
)
def test_an_unfinished_rollout_says_what_is_missing(
    kind: str, spec: dict[str, object], status: dict[str, object], line: str
) -> None:
    assert rollout_progress(workload(kind, spec, **status)) == RolloutProgress(line)


@pytest.mark.parametrize(
    ("kind", "spec", "status", "line"),
    [
        (
            "Deployment",
            {},
            {"updatedReplicas": 3, "replicas": 3, "availableReplicas": 3},
            'deployment "web" successfully rolled out',
        ),
        ("DaemonSet", ROLLING, {}, 'daemon set "web" successfully rolled out'),
        (
            "StatefulSet",
            PARTITIONED,
            {"readyReplicas": 3, "updatedReplicas": 2},
            "partitioned roll out complete: 2 new pods have been updated...",
        ),
        (
            "StatefulSet",
            ROLLING,
            {"readyReplicas": 3, "currentReplicas": 3, "updateRevision": "b", "currentRevision": "b"},
            "statefulset rolling update complete 3 pods at revision b...",
        ),
    ],
)
def test_a_complete_rollout_is_done(kind: str, spec: dict[str, object], status: dict[str, object], line: str) -> None:
    assert rollout_progress(workload(kind, spec, **status)) == RolloutProgress(line, is_done=True)


def test_an_exceeded_progress_deadline_is_an_error() -> None:
    conditions = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]

    with pytest.raises(CommandError, match='deployment "web" exceeded its progress deadline'):
        rollout_progress(workload("Deployment", {}, conditions=conditions))
    # The condition may be that of the generation before.
    unseen = workload("Deployment", {}, conditions=conditions, observedGeneration=1)
    assert rollout_progress(unseen).line == "Waiting for deployment spec update to be observed..."


@pytest.mark.parametrize("kind", ["DaemonSet", "StatefulSet"])
def test_without_rolling_updates_there_is_no_progress(kind: str) -> None:
    with pytest.raises(CommandError, match="rollout status is only available for RollingUpdate strategy type"):
        rollout_progress(workload(kind, {"updateStrategy": {"type": "OnDelete"}}))


def test_a_deployment_may_be_tied_to_a_revision() -> None:
    assert not rollout_progress(workload("Deployment", {}), 3).is_done
    with pytest.raises(CommandError, match=r"desired revision \(2\) is different from the running revision \(3\)"):
        rollout_progress(workload("Deployment", {}), 2)
    # DaemonSets and StatefulSets have no such annotation, and kubectl ignores the option.
    assert rollout_progress(workload("DaemonSet", ROLLING), 2).is_done

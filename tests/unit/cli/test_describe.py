"""What ``describe`` says: for people, in bounded lines, and never a secret or a control sequence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.describe import Described, describe
from masthead._cli.document import as_text, fields, outline, table
from masthead._cli.object_events import about, last_seen
from masthead._cli.selected_pods import SelectedPods, fetch_selected_pods, selector_in
from masthead._cli.terminal import render
from masthead.api.core.v1 import Pod

if TYPE_CHECKING:
    import masthead

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
METADATA = {"name": "web", "namespace": "shop", "creationTimestamp": "2026-03-01T11:55:00Z", "uid": "u-1"}


def said(obj: dict[str, Any], *, events: list[dict[str, Any]] | None = None, problem: str = "") -> str:
    return as_text(describe(Described(obj, events or [], problem), NOW), color=False)


def pod(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **METADATA,
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-1", "controller": True}],
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [
                {
                    "name": "main",
                    "image": "nginx",
                    "ports": [
                        {"containerPort": 80, "name": "http"},
                        {"containerPort": 53, "protocol": "UDP"},
                    ],
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }
            ],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "disk"}}],
        },
        "status": {"phase": "Running", **status},
    }


def test_a_pod_has_its_containers_with_states_ports_and_mounts() -> None:
    crashed = {
        "name": "main",
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {"terminated": {"reason": "Error", "exitCode": 2, "finishedAt": "2026-03-01T11:59:00Z"}},
    }
    text = said(pod(containerStatuses=[crashed]))

    assert text.startswith("Pod shop/web  v1  ready 0/1  CrashLoopBackOff\n")
    for line in (
        "  owned by: ReplicaSet/web-1 (its controller)\n",
        "  node:  node-1\n",
        "    state:      CrashLoopBackOff, back-off 40s\n",
        "    last state: Error, exit code 2, 60s ago\n",
        "    restarts:   3\n",
        "    ports:      80 (http), 53/UDP\n",
        "    mounts:     data at /data\n",
        "  data: persistentVolumeClaim disk\n",
    ):
        assert line in text


def test_a_deployment_has_replicas_pods_and_conditions() -> None:
    text = said(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": METADATA,
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": [{"name": "main", "image": "nginx"}]}},
            },
            "status": {
                "replicas": 3,
                "readyReplicas": 1,
                "conditions": [{"type": "Available", "status": "False", "message": "too\nfew"}],
            },
        }
    )

    assert "  replicas: 3 desired, 3 current, 1 ready\n  selector: app=web\n" in text
    assert "    image: nginx\n" in text
    assert "  Available   False    too few\n" in text


def test_every_other_kind_is_an_outline_of_its_fields() -> None:
    text = said(
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {**METADATA, "generation": 3},
            "spec": {"size": 3, "parts": [{"name": "a", "tags": ["x", "y"]}, {"name": "b"}], "on": False},
            "status": {"observedGeneration": 2, "phase": "Growing"},
        }
    )

    assert "  generation: 3, of which its controller has seen 2\n" in text
    assert "Spec\n  size: 3\n  parts:\n    - name: a\n      tags: x, y\n    - name: b\n  on: false\n" in text
    assert "  phase: Growing\n" in text


def test_the_values_of_a_secret_are_not_shown() -> None:
    text = said(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                **METADATA,
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "aHVudGVyMg=="},
            },
            "type": "Opaque",
            "data": {"password": "aHVudGVyMg=="},
        }
    )

    assert "  password: 7 bytes\n" in text
    assert "aHVudGVyMg" not in text


def test_events_are_told_or_why_they_are_not() -> None:
    event = {
        "type": "Warning",
        "reason": "BackOff",
        "count": 4,
        "lastTimestamp": "2026-03-01T11:59:30Z",
        "source": {"component": "kubelet"},
        "message": "restarting\n",
    }

    assert "  Warning   BackOff   30s   4       kubelet   restarting\n" in said(pod(), events=[event])
    assert "Events\n  not known: forbidden\n" in said(pod(), problem="forbidden")


def test_conditions_that_are_better_false_are_green_then() -> None:
    node = {
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "DiskPressure", "status": "True"},
                {"type": "Ready", "status": "True"},
            ]
        },
    }
    text = render(as_text(describe(Described(node), NOW), color=True))

    assert "MemoryPressure   \x1b[32mFalse" in text
    assert "DiskPressure     \x1b[31mTrue" in text
    assert "Ready            \x1b[32mTrue" in text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "status", "containers", "state", "conditions", "name", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.sampled_from(["Pod", "Deployment", "Secret", "Widget"]), st.dictionaries(st.text(), JSON), JSON, JSON)
def test_objects_of_any_shape_are_described(kind: str, more: dict[str, Any], spec: object, status: object) -> None:
    obj = {**more, "apiVersion": "v1", "kind": kind, "spec": spec, "status": status}
    text = as_text(describe(Described(obj, [obj]), NOW), color=False)

    assert "\x1b" not in text
    assert all(line.isprintable() for line in text.split("\n"))


def test_an_outline_is_bounded() -> None:
    lines = as_text(outline({f"key-{at}": at for at in range(1000)}, limit=10), color=False).splitlines()
    long = as_text(outline({"text": "\n".join(map(str, range(100))), "line": "x" * 5000}), color=False)

    assert lines[-1] == "  ... and 990 more lines"
    assert len(lines) == 11
    assert "... and 88 more lines" in long
    assert max(map(len, long.splitlines())) < 500
    deep: object = "end"
    for _ in range(500):
        deep = {"deeper": deep}
    assert "..." in as_text(outline(deep), color=False)


def test_empty_fields_and_columns_are_left_out() -> None:
    assert as_text(fields([("a", 1), ("empty", ""), ("none", None)]), color=False) == "  a: 1\n"
    assert as_text(table(("A", "B"), [("1", ""), ("2", "")]), color=False) == "  A\n  1\n  2\n"
    assert table(("A",), []) == []


def test_an_event_is_as_old_as_its_last_occurrence() -> None:
    times: list[dict[str, Any]] = [
        {"series": {"lastObservedTime": "2026-03-01T11:00:05Z"}, "eventTime": "2026-03-01T11:00:01Z"},
        {"lastTimestamp": None, "eventTime": "2026-03-01T11:00:04Z"},
        {"metadata": {"creationTimestamp": "2026-03-01T11:00:03Z"}},
        {},
    ]

    assert [last_seen(time).second for time in times] == [5, 4, 3, 0]
    assert about("Pod", "web", "shop") == (
        "involvedObject.kind=Pod,involvedObject.name=web,involvedObject.namespace=shop"
    )


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": METADATA, "spec": {"selector": {"app": "web"}}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": METADATA,
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
}


def selected(name: str, *, is_ready: bool = True, **metadata: Any) -> dict[str, Any]:
    running = {"name": "main", "ready": is_ready, "restartCount": 2, "state": {"running": {}}}
    status = {
        "conditions": [{"type": "Ready", "status": str(is_ready)}],
        "containerStatuses": [running],
    }
    made = pod(**status)
    return {**made, "metadata": {**METADATA, "name": name, **metadata}}


def said_of(obj: dict[str, Any], found: SelectedPods | None) -> str:
    return as_text(describe(Described(obj, selected=found), NOW), color=False)


def test_a_workload_lists_its_pods_those_that_are_not_ready_first() -> None:
    text = said_of(DEPLOYMENT, SelectedPods([selected("web-a"), selected("web-b", is_ready=False)]))

    assert text.endswith(
        "Pods\n"
        "  NAME    READY   STATUS    RESTARTS   AGE   NODE\n"
        "  web-b   0/1     Running   2          5m    node-1\n"
        "  web-a   1/1     Running   2          5m    node-1\n"
    )


def test_of_many_pods_some_are_shown_and_the_others_counted() -> None:
    many = [selected(f"web-{at:02}") for at in range(23)]

    assert "web-19" in said_of(DEPLOYMENT, SelectedPods(many[:20]))
    assert "more" not in said_of(DEPLOYMENT, SelectedPods(many[:20]))
    text = said_of(DEPLOYMENT, SelectedPods(many))
    assert "web-19" in text
    assert "web-20" not in text
    assert text.endswith("  ... and 3 more\n")
    assert said_of(DEPLOYMENT, SelectedPods(many, has_more=True)).endswith("  ... and at least 4 more\n")


def test_a_service_says_whether_a_ready_pod_is_behind_it() -> None:
    ready, waiting = selected("a"), selected("b", is_ready=False)
    going = selected("c", deletionTimestamp="2026-03-01T12:00:30Z")

    assert "Pods\n  1 of 3 ready\n" in said_of(SERVICE, SelectedPods([ready, waiting, going]))
    assert "Pods\n  none of them is ready, " in said_of(SERVICE, SelectedPods([waiting, going]))
    assert said_of(SERVICE, SelectedPods()).endswith("Pods\n  none: no pod has the labels app=web\n")
    assert said_of(DEPLOYMENT, SelectedPods()).endswith("Pods\n  none\n")


def test_a_node_lists_the_pods_of_all_namespaces_that_run_on_it() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    found = [selected("web", namespace="shop"), selected("dns", namespace="kube-system")]

    assert said_of(node, SelectedPods(found)).endswith(
        "Pods\n"
        "  NAMESPACE     NAME   READY   STATUS    RESTARTS   AGE\n"
        "  kube-system   dns    1/1     Running   2          5m\n"
        "  shop          web    1/1     Running   2          5m\n"
    )


def test_the_pods_of_a_node_are_fetched_by_its_name(kube_client: masthead.Client) -> None:
    spec = {"containers": [{"name": "main", "image": "image"}]}
    pods = kube_client.core_v1.pods("default")
    pods.create(Pod.new("here", spec={**spec, "nodeName": "node-a"}))
    pods.create(Pod.new("there", spec={**spec, "nodeName": "node-b"}))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}

    found = fetch_selected_pods(kube_client, node)
    assert found is not None
    assert [each["metadata"]["name"] for each in found.pods] == ["here"]


def test_why_the_pods_are_not_known_is_said_in_a_line() -> None:
    text = said_of(DEPLOYMENT, SelectedPods(problem="pods is forbidden"))

    assert text.endswith("Pods\n  not known: pods is forbidden\n")


def test_only_workloads_and_services_with_a_selector_select_pods() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {"selector": {"matchLabels": {"disk": "fast"}}},
    }

    assert selector_in(DEPLOYMENT) == selector_in(SERVICE) == "app=web"
    assert selector_in({**DEPLOYMENT, "apiVersion": "batch/v1", "kind": "Job"}) == "app=web"
    assert selector_in(claim) == ""
    assert selector_in({**SERVICE, "spec": {"type": "ExternalName"}}) == ""


def test_one_thing_is_no_plural() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"x": "eA=="}}

    assert "x: 1 byte\n" in said(secret)
    assert as_text(outline(["a", "b"] * 150 + [{}]), color=False).endswith("... and 1 more line\n")

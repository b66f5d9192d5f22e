"""Tables that are made from objects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from masthead import Unstructured, printers
from masthead.api.apps.v1 import Deployment
from masthead.api.autoscaling.v1 import HorizontalPodAutoscaler
from masthead.api.core.v1 import Pod
from masthead.api.events.v1 import Event
from masthead.errors import ArgumentError

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
CREATED = "2026-05-04T00:00:00Z"

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "creationTimestamp": CREATED,
        "labels": {"b": "2", "a": "1"},
    },
    "spec": {"containers": [{"name": "main", "image": "nginx"}], "nodeName": "node-1"},
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 2,
                "state": {"running": {}},
                "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-05-04T02:57:01Z"}},
            }
        ],
    },
}
CRD: dict[str, Any] = {
    "spec": {
        "versions": [
            {
                "name": "v1",
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Note", "type": "string", "jsonPath": ".spec.note", "priority": 1},
                ],
            },
            {"name": "v2"},
        ]
    }
}


def widget(version: str = "v1", **spec: object) -> dict[str, Any]:
    metadata = {"name": "w", "creationTimestamp": CREATED}
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("pod", [POD, Pod.from_dict(POD), Unstructured.from_dict(POD)], ids=["plain", "typed", "any"])
def test_a_pod_is_printed_as_kubectl_does(pod: Any) -> None:
    made = printers.table([pod], now=NOW)
    assert str(made).split("\n") == [
        "NAME   READY   STATUS    RESTARTS     AGE",
        "web    1/1     Running   2 (5m ago)   3h2m",
    ]


def test_wide_output_namespaces_and_labels_are_columns() -> None:
    made = printers.table([POD], now=NOW, wide=True, namespaces=True)
    header, line = made.format(labels=True).split("\n")
    assert header.split() == [
        *("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"),
        *("NOMINATED", "NODE", "READINESS", "GATES", "LABELS"),
    ]
    assert line.startswith("shop ")
    assert line.endswith("a=1,b=2")
    assert "10.0.0.7" in line
    assert made.format(wide=False, namespaces=False, headers=False) == "web   1/1   Running   2 (5m ago)   3h2m"


def test_rows_are_data() -> None:
    made = printers.table([Pod.from_dict(POD)], now=NOW)
    (row,) = made
    assert (row.namespace, row.name, len(made)) == ("shop", "web", 1)
    assert row.cells[:3] == ("web", "1/1", "Running")
    assert made.records()[0]["Node"] == "node-1"
    assert isinstance(row.object, Pod)


def test_no_objects_are_no_text() -> None:
    made = printers.table([])
    assert str(made) == ""
    assert len(made) == 0


def test_objects_of_two_kinds_are_rejected() -> None:
    deployment = Deployment.new("web")
    with pytest.raises(ArgumentError, match="one kind, and these are of Pod and Deployment"):
        printers.table([Pod.from_dict(POD), deployment])


def test_versions_of_one_kind_may_be_mixed() -> None:
    made = printers.table([widget("v1"), widget("v2")], now=NOW)
    assert [row.cells for row in made] == [("w", "3h2m"), ("w", "3h2m")]


def test_a_definition_has_the_columns_of_custom_resources() -> None:
    made = printers.table([Unstructured.from_dict(widget(size=3, note="x"))], definition=CRD, now=NOW)
    assert [column.name for column in made.columns] == ["Name", "Size", "Note"]
    assert made.rows[0].cells == ("w", 3, "x")
    assert str(made) == "NAME   SIZE\nw      3"


def test_a_version_without_columns_has_an_age() -> None:
    assert printers.table([widget("v2")], definition=CRD, now=NOW).rows[0].cells == ("w", "3h2m")


def test_a_version_that_the_definition_does_not_have_is_rejected() -> None:
    with pytest.raises(ArgumentError, match="no version 'v3'"):
        printers.table([widget("v3")], definition=CRD)


def test_a_changed_object_is_printed_as_it_is_now() -> None:
    pod = Pod.from_dict(POD)
    pod.status.phase = "Pending"
    pod.status.container_statuses.clear()
    assert printers.table([pod], now=NOW).rows[0].cells[1:3] == ("0/1", "Pending")


def test_an_autoscaler_of_v1_has_its_cpu_target() -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "maxReplicas": 9,
        "targetCPUUtilizationPercentage": 50,
    }
    scaler = HorizontalPodAutoscaler.from_dict(
        {"metadata": {"name": "a"}, "spec": spec, "status": {"currentCPUUtilizationPercentage": 20}}
    )
    assert printers.table([scaler], now=NOW).rows[0].cells[1:5] == (
        "Deployment/web",
        "cpu: 20%/50%",
        "<unset>",
        9,
    )


def test_an_event_of_the_new_api_is_printed_as_one_of_the_old() -> None:
    event = Event.from_dict(
        {
            "metadata": {"name": "e"},
            "eventTime": "2026-05-04T03:00:01.000000Z",
            "regarding": {"kind": "Pod", "name": "web"},
            "note": "hello",
            "reason": "Started",
            "type": "Normal",
            "reportingController": "kubelet",
            "reportingInstance": "node-1",
        }
    )
    cells = printers.table([event], now=NOW).rows[0].cells
    assert cells == ("2m", "Normal", "Started", "pod/web", "", "kubelet, node-1", "hello", "2m", 1, "e")


def test_a_notebook_shows_rows_and_columns_and_no_markup_of_objects() -> None:
    odd = {**POD, "metadata": {**POD["metadata"], "name": "<b>web</b>"}}
    shown = printers.table([odd], now=NOW, namespaces=True)._repr_html_()

    assert shown == (
        "<table><tr><th>NAMESPACE</th><th>NAME</th><th>READY</th><th>STATUS</th><th>RESTARTS</th><th>AGE</th></tr>"
        "<tr><td>shop</td><td>&lt;b&gt;web&lt;/b&gt;</td><td>1/1</td><td>Running</td><td>2 (5m ago)</td>"
        "<td>3h2m</td></tr>"
        "</table>"
    )


def test_a_notebook_shows_the_first_rows_of_a_long_table() -> None:
    shown = printers.table([POD] * 203, now=NOW)._repr_html_()

    assert shown.count("<tr>") == 201
    assert "<caption>3 more rows</caption>" in shown


def test_a_notebook_shows_that_a_table_is_empty() -> None:
    assert "no rows" in printers.table([])._repr_html_()

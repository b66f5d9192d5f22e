"""Writes in several versions, and what they do to objects and managers: details that the real server decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.server.calls import APPLY_PATCH, MERGE_PATCH
from tests.server.custom_definitions import WIDGETS, define, version_of, widget

if TYPE_CHECKING:
    from tests.server.quiet_cluster import QuietCluster

Plain = dict[str, Any]
NEWER = WIDGETS.replace("/v1/", "/v2/")
SCALERS = "namespaces/default/horizontalpodautoscalers"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}


def schema(**fields: Plain) -> Plain:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


def apply(cluster: QuietCluster, path: str, body: Plain, manager: str = "one") -> Any:
    return cluster.call("PATCH", f"{path}?fieldManager={manager}", body, content_type=APPLY_PATCH)


def test_a_write_in_another_version_that_changes_nothing_keeps_the_version_of_the_object(
    cluster: QuietCluster,
) -> None:
    text = schema(text={"type": "string"})
    define(cluster, version_of("v1", text), version_of("v2", text))
    made = cluster.call("POST", WIDGETS, widget(spec={"text": "x"}))

    found = cluster.call("PATCH", f"{NEWER}/a", {}, content_type=MERGE_PATCH)

    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_deletion_in_another_version_drops_what_that_version_does_not_have(cluster: QuietCluster) -> None:
    define(cluster, version_of("v1", schema(text={"type": "string"})), version_of("v2", schema()))
    finalizers = {"finalizers": ["example.com/a"]}
    cluster.call("POST", WIDGETS, widget(metadata=finalizers, spec={"text": "x"}))

    cluster.call("DELETE", f"{NEWER}/a")

    assert cluster.call("GET", f"{WIDGETS}/a")["spec"] == {}


def test_an_empty_list_is_a_change_of_a_custom_resource(cluster: QuietCluster) -> None:
    define(cluster, version_of("v1", schema(items={"type": "array", "items": {"type": "string"}})))
    cluster.call("POST", WIDGETS, widget(spec={}))

    found = cluster.call("PATCH", f"{WIDGETS}/a", {"spec": {"items": []}}, content_type=MERGE_PATCH)

    assert found["metadata"]["generation"] == 2


def test_a_whole_number_with_a_point_is_an_integer_in_a_configuration(cluster: QuietCluster) -> None:
    define(cluster, version_of("v1", schema(number={"type": "number"})))
    made = apply(cluster, f"{WIDGETS}/a", widget(spec={"number": 2}))

    again = apply(cluster, f"{WIDGETS}/a", widget(spec={"number": 2.0}))

    assert again == made


def test_a_map_that_loses_its_last_entry_is_gone_though_another_manager_owns_it_empty(
    cluster: QuietCluster,
) -> None:
    define(cluster, version_of("v1", schema(anything={"x-kubernetes-preserve-unknown-fields": True})))
    apply(cluster, f"{WIDGETS}/a", widget(spec={"anything": {"x": 1}}))
    apply(cluster, f"{WIDGETS}/a", widget(spec={"anything": {}}), "two")

    found = apply(cluster, f"{WIDGETS}/a", widget(spec={}))

    assert "anything" not in found["spec"]


def test_an_item_that_stands_twice_loses_the_managers_of_several_versions(cluster: QuietCluster) -> None:
    spec = {"maxReplicas": 9, "scaleTargetRef": TARGET}
    body = {"metadata": {"name": "a"}, "spec": spec}
    cluster.call("POST", f"/apis/autoscaling/v2/{SCALERS}", body)
    twice = {"metadata": {"finalizers": ["example.com/a", "example.com/a"]}}

    found = cluster.call("PATCH", f"/apis/autoscaling/v1/{SCALERS}/a", twice, content_type=MERGE_PATCH)

    assert "managedFields" not in found["metadata"]


def test_a_configuration_that_changes_nothing_keeps_what_its_version_cannot_hold(
    cluster: QuietCluster,
) -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    spec = {"maxReplicas": 9, "scaleTargetRef": TARGET, "metrics": [metric, metric]}
    body = {"metadata": {"name": "a", "annotations": annotations}, "spec": spec}
    cluster.call("POST", f"/apis/autoscaling/v2/{SCALERS}", body)
    config = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}}

    apply(cluster, f"/apis/autoscaling/v1/{SCALERS}/a", config, "kubectl")

    found = cluster.call("GET", f"/apis/autoscaling/v2/{SCALERS}/a")
    assert found["spec"]["metrics"] == [metric, metric]

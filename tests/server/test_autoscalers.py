"""HorizontalPodAutoscalers: replicas by the metrics that a test sets, with the words of the real controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

APPS = "/apis/apps/v1/namespaces/default"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
CPU: dict[str, Any] = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}


class ScalerCluster(QuietCluster):
    """A quiet cluster with a Deployment of two pods that request 100m each, and its autoscaler."""

    def create_deployment(self, name: str = "web", replicas: int = 2) -> None:
        labels = {"app": name}
        container = {"name": "app", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        self.call("POST", f"{APPS}/deployments", {"metadata": {"name": name}, "spec": spec})

    def create_scaler(self, *metrics: dict[str, Any], name: str = "web", **spec: Any) -> None:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        body = {"scaleTargetRef": target, "maxReplicas": 10, "metrics": list(metrics) or [CPU], **spec}
        self.call("POST", SCALERS, {"metadata": {"name": name}, "spec": body})

    def settle(self, seconds: float = 360) -> None:
        """Let the pods run for longer than their first minutes, which say nothing."""
        self.server.advance(seconds)
        self.server.block_until_idle()

    def look(self, times: int = 1) -> None:
        """Let the autoscaler look at its metrics."""
        for _ in range(times):
            self.server.advance(15)
            self.server.block_until_idle()

    def replicas(self) -> int:
        found: int = self.call("GET", f"{APPS}/deployments/web")["spec"]["replicas"]
        return found

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", f"{SCALERS}/web")["status"]
        return found

    def condition(self, of_type: str) -> tuple[str, str, str]:
        found = next(item for item in self.status()["conditions"] if item["type"] == of_type)
        return found["status"], found["reason"], found["message"]

    def reports(self) -> dict[str, str]:
        items = self.call("GET", "/api/v1/namespaces/default/events")["items"]
        return {
            event["reason"]: event["message"]
            for event in items
            if event["involvedObject"]["kind"] == "HorizontalPodAutoscaler"
        }


@pytest.fixture
def cluster() -> Iterator[ScalerCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True, kubelet=True, bootstrap=False) as running:
        made = ScalerCluster(running)
        made.create_deployment()
        made.settle()
        yield made
        made.caller.close()


def test_a_high_usage_adds_replicas(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="100m")
    cluster.create_scaler()
    assert cluster.replicas() == 2
    cluster.look()
    assert cluster.replicas() == 4
    status = cluster.status()
    assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 4)
    current = {"averageUtilization": 100, "averageValue": "100m"}
    assert status["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    above = "cpu resource utilization (percentage of request) above target"
    assert cluster.reports() == {"SuccessfulRescale": f"New size: 4; reason: {above}"}
    message = "the HPA controller was able to update the target scale to 4"
    assert cluster.condition("AbleToScale") == ("True", "SucceededRescale", message)
    message = "the desired count is within the acceptable range"
    assert cluster.condition("ScalingLimited") == ("False", "DesiredWithinRange", message)
    found = "the HPA was able to successfully calculate a replica count from cpu resource utilization"
    assert cluster.condition("ScalingActive") == ("True", "ValidMetricFound", f"{found} (percentage of request)")


def test_a_usage_within_the_tolerance_changes_nothing(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="54m")
    cluster.create_scaler()
    cluster.look(3)
    assert cluster.replicas() == 2
    assert cluster.condition("AbleToScale")[1] == "ReadyForNewScale"


def test_a_low_usage_removes_replicas_after_the_stabilization_window(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="10m")
    cluster.create_scaler()
    cluster.look(20)
    assert cluster.replicas() == 2
    message = "recent recommendations were higher than current one, applying the highest recent recommendation"
    assert cluster.condition("AbleToScale") == ("True", "ScaleDownStabilized", message)
    cluster.look(2)
    assert cluster.replicas() == 1
    assert cluster.reports()["SuccessfulRescale"] == "New size: 1; reason: All metrics below target"


def test_the_maximum_limits_the_replicas(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="1")
    cluster.create_scaler(maxReplicas=3)
    cluster.look()
    assert cluster.replicas() == 3
    message = "the desired replica count is more than the maximum replica count"
    assert cluster.condition("ScalingLimited") == ("True", "TooManyReplicas", message)


def test_replicas_at_most_double(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="1")
    cluster.create_scaler()
    cluster.look()
    assert cluster.replicas() == 4
    assert cluster.condition("ScalingLimited")[1] == "ScaleUpLimit"


@pytest.mark.parametrize(
    ("bounds", "expected", "reason"),
    [
        ({"minReplicas": 3}, 3, "Current number of replicas below Spec.MinReplicas"),
        ({"maxReplicas": 1}, 1, "Current number of replicas above Spec.MaxReplicas"),
    ],
)
def test_replicas_outside_the_bounds_need_no_metrics(
    cluster: ScalerCluster, bounds: dict[str, Any], expected: int, reason: str
) -> None:
    cluster.create_scaler(**bounds)
    cluster.look()
    assert cluster.replicas() == expected
    assert cluster.reports() == {"SuccessfulRescale": f"New size: {expected}; reason: {reason}"}


def test_a_target_without_replicas_is_not_scaled(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="1")
    cluster.call("PATCH", f"{APPS}/deployments/web", {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)
    cluster.create_scaler()
    cluster.look()
    assert cluster.replicas() == 0
    message = "scaling is disabled since the replica count of the target is zero"
    assert cluster.condition("ScalingActive") == ("False", "ScalingDisabled", message)


def test_without_metrics_an_autoscaler_says_what_is_missing(cluster: ScalerCluster) -> None:
    cluster.create_scaler()
    cluster.look()
    missing = "the server could not find the requested resource (get pods.metrics.k8s.io)"
    problem = (
        "failed to get cpu utilization: unable to get metrics for resource cpu: "
        f"unable to fetch metrics from resource metrics API: {missing}"
    )
    invalid = "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: "
    assert cluster.reports() == {
        "FailedGetResourceMetric": problem,
        "FailedComputeMetricsReplicas": f"{invalid}{problem}",
    }
    message = f"the HPA was unable to compute the replica count: {problem}"
    assert cluster.condition("ScalingActive") == ("False", "FailedGetResourceMetric", message)


def test_pods_that_have_just_started_do_not_count(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="100m")
    cluster.create_scaler(maxReplicas=100)
    cluster.look()
    assert cluster.replicas() == 4
    # The two new pods are ready for less than a window: they count as if they used nothing.
    cluster.server.advance(14)
    assert cluster.replicas() == 4
    cluster.look(2)
    assert cluster.replicas() > 4


def test_a_pod_without_metrics_uses_nothing_when_replicas_are_added(cluster: ScalerCluster) -> None:
    names = [pod["metadata"]["name"] for pod in cluster.call("GET", "/api/v1/namespaces/default/pods")["items"]]
    cluster.server.metrics.set_pod(names[0], cpu="90m")
    cluster.create_scaler()
    cluster.look(2)
    assert cluster.replicas() == 2
    cluster.server.metrics.set_pod(names[0], cpu="160m")
    cluster.look()
    assert cluster.replicas() == 4


def test_memory_is_an_average_in_binary_units(cluster: ScalerCluster) -> None:
    target = {"type": "AverageValue", "averageValue": "64Mi"}
    cluster.server.metrics.set_pod("web-*", memory="96Mi")
    cluster.create_scaler({"type": "Resource", "resource": {"name": "memory", "target": target}})
    cluster.look()
    assert cluster.replicas() == 3
    assert cluster.status()["currentMetrics"][0]["resource"]["current"] == {"averageValue": "96Mi"}


def test_a_metric_of_one_container_leaves_out_the_others(cluster: ScalerCluster) -> None:
    source = {"name": "cpu", "container": "app", "target": {"type": "Utilization", "averageUtilization": 50}}
    cluster.server.metrics.set_pod("web-*", cpu="10m")
    cluster.server.metrics.set_pod("web-*", cpu="75m", container="app")
    cluster.create_scaler({"type": "ContainerResource", "containerResource": source})
    cluster.look()
    assert cluster.replicas() == 3


def test_custom_metrics_of_pods_and_of_an_object_count(cluster: ScalerCluster) -> None:
    pods = {"metric": {"name": "queries"}, "target": {"type": "AverageValue", "averageValue": "10"}}
    described = {"apiVersion": "v1", "kind": "Service", "name": "web"}
    of_object = {
        "metric": {"name": "hits"},
        "describedObject": described,
        "target": {"type": "Value", "value": "100"},
    }
    cluster.server.metrics.set_object("queries", 10, name="web-*")
    cluster.server.metrics.set_object("hits", "200", kind="Service", name="web")
    cluster.create_scaler({"type": "Pods", "pods": pods}, {"type": "Object", "object": of_object})
    cluster.look()
    assert cluster.replicas() == 4
    assert cluster.reports()["SuccessfulRescale"] == "New size: 4; reason: Service metric hits above target"
    first, second = cluster.status()["currentMetrics"]
    assert first["pods"] == {"metric": {"name": "queries"}, "current": {"averageValue": "10"}}
    assert second["object"]["current"] == {"value": "200"}


def test_values_of_an_external_metric_add_up(cluster: ScalerCluster) -> None:
    metric = {"name": "backlog", "selector": {"matchLabels": {"queue": "orders"}}}
    source = {"metric": metric, "target": {"type": "AverageValue", "averageValue": "10"}}
    for region, value in (("east", 12), ("west", 18)):
        cluster.server.metrics.set_external("backlog", value, labels={"queue": "orders", "region": region})
    cluster.server.metrics.set_external("backlog", 500, labels={"queue": "invoices"})
    cluster.create_scaler({"type": "External", "external": source})
    cluster.look()
    assert cluster.replicas() == 3
    assert cluster.status()["currentMetrics"][0]["external"]["current"] == {"averageValue": "15"}
    cluster.server.metrics.clear()
    cluster.look()
    selector = (
        "&LabelSelector{MatchLabels:map[string]string{queue: orders,},MatchExpressions:[]LabelSelectorRequirement{},}"
    )
    missing = "the server could not find the requested resource (get backlog.external.metrics.k8s.io)"
    assert cluster.reports()["FailedGetExternalMetric"] == (
        f"unable to get external metric default/backlog/{selector}: "
        f"unable to fetch metrics from external metrics API: {missing}"
    )


def test_one_missing_metric_stops_only_the_removal_of_replicas(cluster: ScalerCluster) -> None:
    external = {"metric": {"name": "backlog"}, "target": {"type": "Value", "value": "10"}}
    cluster.server.metrics.set_pod("web-*", cpu="10m")
    cluster.create_scaler(CPU, {"type": "External", "external": external})
    cluster.look(25)
    assert cluster.replicas() == 2
    assert cluster.condition("ScalingActive")[:2] == ("False", "FailedGetExternalMetric")
    cluster.server.metrics.set_pod("web-*", cpu="100m")
    cluster.look()
    assert cluster.replicas() == 4


def test_policies_limit_the_rate_in_both_directions(cluster: ScalerCluster) -> None:
    up = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    down = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}]}
    cluster.server.metrics.set_pod("web-*", cpu="1")
    cluster.create_scaler(behavior={"scaleUp": up, "scaleDown": down})
    cluster.look(3)
    assert cluster.replicas() == 3
    assert cluster.condition("ScalingLimited")[1] == "ScaleUpLimit"
    cluster.look(2)
    assert cluster.replicas() == 4
    cluster.settle(600)
    assert cluster.replicas() == 10
    cluster.server.metrics.set_pod("web-*", cpu="1m")
    cluster.look()
    assert cluster.replicas() == 5
    assert cluster.condition("ScalingLimited")[1] == "ScaleDownLimit"


def test_a_disabled_direction_is_never_taken(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="1m")
    cluster.create_scaler(behavior={"scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}})
    cluster.look(5)
    assert cluster.replicas() == 2


def test_an_unknown_target_is_reported(cluster: ScalerCluster) -> None:
    cluster.create_scaler(scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"})
    cluster.look()
    problem = 'deployments.apps "gone" not found'
    message = f"the HPA controller was unable to get the target's current scale: {problem}"
    assert cluster.condition("AbleToScale") == ("False", "FailedGetScale", message)
    assert cluster.reports() == {"FailedGetScale": problem}


def test_two_autoscalers_of_the_same_pods_do_nothing(cluster: ScalerCluster) -> None:
    cluster.server.metrics.set_pod("web-*", cpu="50m")
    cluster.create_scaler()
    cluster.create_scaler(name="rival")
    cluster.look(2)
    problem = "pods by selector app=web are controlled by multiple HPAs: [{rival default} {web default}]"
    assert cluster.condition("ScalingActive") == ("False", "AmbiguousSelector", problem)


def test_a_stateful_set_is_scaled_through_its_scale(cluster: ScalerCluster) -> None:
    labels = {"app": "db"}
    container = {"name": "app", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    cluster.call("POST", f"{APPS}/statefulsets", {"metadata": {"name": "db"}, "spec": spec})
    cluster.settle()
    cluster.server.metrics.set_pod("db-0", cpu="100m")
    cluster.create_scaler(scaleTargetRef={"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"})
    cluster.look()
    found = cluster.call("GET", f"{APPS}/statefulsets/db")
    assert found["spec"]["replicas"] == 2
    managers = {(entry["manager"], entry.get("subresource", "")) for entry in found["metadata"]["managedFields"]}
    assert ("kube-controller-manager", "scale") in managers


def test_a_deleted_autoscaler_scales_nothing_any_more(cluster: ScalerCluster) -> None:
    cluster.create_scaler()
    cluster.look()
    cluster.call("DELETE", f"{SCALERS}/web")
    cluster.server.metrics.set_pod("web-*", cpu="1")
    cluster.look(2)
    assert cluster.replicas() == 2


METRICS = "/apis/metrics.k8s.io/v1beta1"


def test_set_usage_is_served_as_resource_metrics(cluster: ScalerCluster) -> None:
    assert not cluster.is_there(METRICS)
    cluster.server.metrics.set_pod("web-*", cpu="250m", memory="64Mi")
    listed = cluster.call("GET", f"{METRICS}/namespaces/default/pods?labelSelector=app%3Dweb")
    assert listed["kind"] == "PodMetricsList"
    usage = {"cpu": "250m", "memory": "64Mi"}
    assert [item["containers"] for item in listed["items"]] == [[{"name": "app", "usage": usage}]] * 2
    one = cluster.call("GET", f"{METRICS}/namespaces/default/pods/{listed['items'][0]['metadata']['name']}")
    assert (one["kind"], one["window"]) == ("PodMetrics", "15s")
    (node,) = cluster.call("GET", f"{METRICS}/nodes")["items"]
    assert node["usage"] == {"cpu": "500m", "memory": "128Mi"}
    assert cluster.call("GET", f"{METRICS}/pods?labelSelector=app%3Dother")["items"] == []
    assert not cluster.is_there(f"{METRICS}/namespaces/default/pods/gone")
    assert cluster.caller.call("POST", f"{METRICS}/namespaces/default/pods", {}).code == 405


def test_discovery_shows_resource_metrics_once_there_are_some(cluster: ScalerCluster) -> None:
    def groups() -> set[str]:
        return {group["name"] for group in cluster.call("GET", "/apis")["groups"]}

    assert "metrics.k8s.io" not in groups()
    cluster.server.metrics.set_pod("web-*", cpu="250m")
    assert "metrics.k8s.io" in groups()
    names = [resource["name"] for resource in cluster.call("GET", METRICS)["resources"]]
    assert names == ["nodes", "pods"]
    cluster.server.metrics.clear()
    assert "metrics.k8s.io" not in groups()

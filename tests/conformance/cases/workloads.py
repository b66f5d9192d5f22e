"""Behaviour of pods and of the kinds that create them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import deployment, job, named, pod, pod_spec, template, workload

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Workloads")


def container(**fields: object) -> Plain:
    return {"name": "main", "image": "image", **fields}


@case("a pod with nothing in it")
def _(api: Api) -> None:
    api.create("pods", named("v1", "Pod", "a"))
    api.create("pods", named("v1", "Pod", "a", spec={"containers": []}))
    api.create("pods", named("v1", "Pod", "a", spec={"containers": [{}]}))


@case("a pod with much in it")
def _(api: Api) -> None:
    spec = {
        "containers": [
            container(
                image="example.com/image:1",
                command=["run"],
                env=[
                    {"name": "A", "value": "1"},
                    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
                ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
                resources={"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"cpu": "1000m"}},
                volumeMounts=[{"name": "data", "mountPath": "/data"}],
                livenessProbe={"httpGet": {"path": "/live", "port": 80}},
                readinessProbe={"exec": {"command": ["true"]}},
            ),
            container(name="other", image="image:latest", imagePullPolicy="Never"),
        ],
        "initContainers": [{"name": "first", "image": "image@sha256:" + "0" * 64}],
        "volumes": [
            {"name": "data", "emptyDir": {}},
            {"name": "config", "configMap": {"name": "a"}},
            {"name": "secret", "secret": {"secretName": "a"}},
            {"name": "host", "hostPath": {"path": "/tmp"}},
            {"name": "all", "projected": {"sources": [{"downwardAPI": {"items": []}}]}},
        ],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "securityContext": {"runAsUser": 1000},
    }
    api.create("pods", pod("a", spec=spec))


@case("pods of every quality of service")
def _(api: Api) -> None:
    same = {"cpu": "1", "memory": "1Gi"}
    api.create("pods", pod("guaranteed", spec={"containers": [container(resources={"limits": same})]}))
    api.create("pods", pod("burstable", spec={"containers": [container(resources={"requests": {"cpu": "1"}})]}))
    api.create("pods", pod("best-effort"))


@case("pods that cannot be")
def _(api: Api) -> None:
    for spec in (
        {"containers": [container(), container()]},
        {"containers": [container(name="Upper")]},
        {"containers": [container(image="")]},
        {"containers": [container(ports=[{"containerPort": 0}, {"containerPort": 70000}])]},
        {"containers": [container(ports=[{"containerPort": 80, "protocol": "ICMP"}])]},
        {"containers": [container(env=[{"name": ""}, {"name": "a b=c"}])]},
        {"containers": [container(volumeMounts=[{"name": "none", "mountPath": "/a"}])]},
        {"containers": [container(imagePullPolicy="Sometimes")]},
        {"containers": [container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]},
        {"containers": [container(resources={"requests": {"cpu": "-1"}})]},
        {"restartPolicy": "Sometimes"},
        {"terminationGracePeriodSeconds": -1, "activeDeadlineSeconds": 0},
        {"volumes": [{"name": "a"}, {"name": "a", "emptyDir": {}}]},
        {"priorityClassName": "nobody-knows-it"},
        {"dnsPolicy": "Nonsense"},
        {"hostNetwork": True, "containers": [container(ports=[{"containerPort": 80, "hostPort": 81}])]},
    ):
        api.create("pods", pod("a", spec=spec))


@case("a pod of a priority that every server has")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"priorityClassName": "system-cluster-critical"}))
    api.create("pods", pod("b", spec={"priority": 7}))


@case("a pod's image and tolerations may change, and its generation counts")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.patch("pods", "a", [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}], by="json")
    api.patch("pods", "a", {"metadata": {"labels": {"l": "1"}}})
    api.patch("pods", "a", {"spec": {"activeDeadlineSeconds": 60}})


@case("a deployment with nothing in it")
def _(api: Api) -> None:
    api.create("deployments", named("apps/v1", "Deployment", "a"))
    api.create("deployments", named("apps/v1", "Deployment", "a", spec={}))
    api.create("deployments", named("apps/v1", "Deployment", "a", spec={"selector": {}, "template": template()}))


@case("deployments that cannot be")
def _(api: Api) -> None:
    for changes in (
        {"replicas": -1},
        {"selector": {"matchLabels": {"app": "other"}}},
        {"strategy": {"type": "Nonsense"}},
        {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        {"strategy": {"rollingUpdate": {"maxSurge": "many"}}},
        {"minReadySeconds": -1},
        {"progressDeadlineSeconds": 1, "minReadySeconds": 5},
        {"revisionHistoryLimit": -1},
        {"template": {**template(), "spec": {**pod_spec(), "restartPolicy": "Never"}}},
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Nonsense"}]}},
        {"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
    ):
        body = deployment("a")
        body["spec"] |= changes
        api.create("deployments", body)


@case("deployments of every strategy")
def _(api: Api) -> None:
    for number, strategy in enumerate(
        ({"type": "Recreate"}, {"type": "RollingUpdate"}, {"rollingUpdate": {"maxSurge": 2}})
    ):
        body = deployment(f"a{number}")
        body["spec"]["strategy"] = strategy
        api.create("deployments", body)


@case("generations of other workloads")
def _(api: Api) -> None:
    for kind, resource in (
        ("ReplicaSet", "replicasets"),
        ("StatefulSet", "statefulsets"),
        ("DaemonSet", "daemonsets"),
    ):
        api.create(resource, workload(kind, "a"))
        api.patch(resource, "a", {"metadata": {"annotations": {"a": "b"}}})
        api.patch(resource, "a", {"spec": {"minReadySeconds": 5}})
        api.patch(resource, "a/status", {"status": {"observedGeneration": 2}})


@case("a stateful set's spec can hardly be changed")
def _(api: Api) -> None:
    api.create("statefulsets", workload("StatefulSet", "a"))
    api.patch("statefulsets", "a", {"spec": {"serviceName": "other"}})
    api.patch("statefulsets", "a", {"spec": {"replicas": 3}})


@case("a stateful set with claims")
def _(api: Api) -> None:
    body = workload("StatefulSet", "a")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": spec}]
    api.create("statefulsets", body)


@case("jobs that cannot be")
def _(api: Api) -> None:
    api.create("jobs", named("batch/v1", "Job", "a"))
    body = job("a")
    body["spec"]["template"]["spec"].pop("restartPolicy")
    api.create("jobs", body)
    for changes in (
        {"parallelism": -1},
        {"completions": -1},
        {"backoffLimit": -1},
        {"completionMode": "Nonsense"},
    ):
        body = job("a")
        body["spec"] |= changes
        api.create("jobs", body)
    body = job("a")
    body["spec"]["selector"] = {"matchLabels": {"a": "b"}}
    api.create("jobs", body)


@case("a job's selector and labels are made of its uid")
def _(api: Api) -> None:
    api.create("jobs", job("a", labels={"own": "label"}))


@case("an indexed job, and one that is suspended")
def _(api: Api) -> None:
    for name, changes in (
        ("indexed", {"completionMode": "Indexed", "completions": 3, "parallelism": 2}),
        ("suspended", {"suspend": True, "ttlSecondsAfterFinished": 5, "activeDeadlineSeconds": 9}),
    ):
        body = job(name)
        body["spec"] |= changes
        api.create("jobs", body)
    api.patch("jobs", "suspended", {"spec": {"suspend": False}})


@case("cron jobs that cannot be")
def _(api: Api) -> None:
    api.create("cronjobs", named("batch/v1", "CronJob", "a"))
    for changes in (
        {"schedule": "often"},
        {"schedule": ""},
        {"concurrencyPolicy": "Nonsense"},
        {"timeZone": "Nowhere/City"},
    ):
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, **changes}
        api.create("cronjobs", named("batch/v1", "CronJob", "a", spec=spec))


@case("a cron job's generation")
def _(api: Api) -> None:
    spec = {"schedule": "@daily", "timeZone": "Etc/UTC", "jobTemplate": {"spec": job()["spec"]}}
    api.create("cronjobs", named("batch/v1", "CronJob", "a", spec=spec))
    api.patch("cronjobs", "a", {"spec": {"suspend": True}})


@case("an autoscaler written in v1 and read in v2")
def _(api: Api) -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 55,
    }
    old = "autoscaling/v1/horizontalpodautoscalers"
    api.create(old, named("autoscaling/v1", "HorizontalPodAutoscaler", "a", spec=spec))
    api.get("horizontalpodautoscalers", "a")
    api.patch("horizontalpodautoscalers", "a", {"spec": {"minReplicas": 2}})
    api.get(old, "a")


@case("an autoscaler written in v2 and read in v1")
def _(api: Api) -> None:
    target = {"type": "AverageValue", "averageValue": "100m"}
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"},
        "maxReplicas": 3,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
            },
            {"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": target}},
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
    }
    api.create("horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec))
    api.get("autoscaling/v1/horizontalpodautoscalers", "a")


@case("autoscalers that cannot be")
def _(api: Api) -> None:
    target = {"kind": "Deployment", "name": "a"}
    for spec in (
        {},
        {"scaleTargetRef": target},
        {"scaleTargetRef": target, "minReplicas": 5, "maxReplicas": 3},
        {"scaleTargetRef": target, "minReplicas": 0, "maxReplicas": 3},
        {"scaleTargetRef": {"kind": "Deployment"}, "maxReplicas": 3},
    ):
        api.create("horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec))


@case("kernel parameters of a pod")
def _(api: Api) -> None:
    names = ("foo-", "kernel.shmmax", "safe-and-unsafe", "bar..", "", "net/ipv4/conf", "kernel.shmmax", "a" * 254)
    sysctls = [{"name": name, "value": "1"} for name in names]
    for shared in ({}, {"hostNetwork": True}, {"hostIPC": True}):
        spec = {**pod_spec(), "securityContext": {"sysctls": sysctls}, **shared}
        api.create("pods", named("v1", "Pod", "a", spec=spec))

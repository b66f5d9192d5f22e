"""What is special about single kinds: what is filled in, what is checked, which versions there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import (
    config_map,
    deployment,
    job,
    named,
    pod,
    pod_spec,
    service,
    template,
    workload,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Kinds")


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
            {"name": "host", "hostPath": {"path": "/tmp"}},  # noqa: S108
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
    api.create(
        "pods", pod("burstable", spec={"containers": [container(resources={"requests": {"cpu": "1"}})]})
    )
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
    api.patch(
        "pods", "a", [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}], by="json"
    )
    api.patch("pods", "a", {"metadata": {"labels": {"l": "1"}}})
    api.patch("pods", "a", {"spec": {"activeDeadlineSeconds": 60}})


@case("a deployment with nothing in it")
def _(api: Api) -> None:
    api.create("deployments", named("apps/v1", "Deployment", "a"))
    api.create("deployments", named("apps/v1", "Deployment", "a", spec={}))
    api.create(
        "deployments", named("apps/v1", "Deployment", "a", spec={"selector": {}, "template": template()})
    )


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


@case("services of every type")
def _(api: Api) -> None:
    for name, spec in (
        ("cluster-ip", {}),
        ("headless", {"clusterIP": "None", "selector": {"a": "b"}}),
        ("node-port", {"type": "NodePort"}),
        ("load-balancer", {"type": "LoadBalancer"}),
        ("external", {"type": "ExternalName", "externalName": "example.com", "ports": []}),
    ):
        api.create("services", service(name, spec=spec))


@case("services that cannot be")
def _(api: Api) -> None:
    api.create("services", named("v1", "Service", "a"))
    for spec in (
        {"ports": [{"port": 0}]},
        {"ports": [{"port": 80}, {"port": 81}]},
        {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]},
        {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]},
        {"ports": [{"port": 80, "protocol": "ICMP"}]},
        {"ports": [{"port": 80, "targetPort": "Upper Case"}]},
        {"type": "Nonsense"},
        {"type": "ExternalName"},
        {"clusterIP": "nonsense"},
        {"sessionAffinity": "Nonsense"},
        {"ports": [{"port": 80, "nodePort": 30080}]},
        {"ipFamilies": ["IPv6"]},
    ):
        api.create("services", service("a", spec=spec))


@case("a service changes its type")
def _(api: Api) -> None:
    api.create("services", service("a"))
    api.patch("services", "a", {"spec": {"type": "NodePort"}})
    api.patch("services", "a", {"spec": {"type": "ClusterIP"}})
    api.patch("services", "a", {"spec": {"clusterIP": None}})


@case("a secret's texts become data")
def _(api: Api) -> None:
    api.create(
        "secrets", named("v1", "Secret", "a", data={"k": "b2xk", "other": "eA=="}, stringData={"k": "new"})
    )
    api.patch("secrets", "a", {"stringData": {"third": "text"}})


@case("secrets of types with rules")
def _(api: Api) -> None:
    for name, body in (
        ("tls", {"type": "kubernetes.io/tls"}),
        ("basic", {"type": "kubernetes.io/basic-auth"}),
        ("ssh", {"type": "kubernetes.io/ssh-auth"}),
        (
            "docker",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "no JSON"}},
        ),
        ("account", {"type": "kubernetes.io/service-account-token"}),
        ("keys", {"stringData": {"a key": "v", "": "v", "..": "v"}}),
    ):
        api.create("secrets", named("v1", "Secret", name, **body))


@case("config maps that cannot be")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"a key": "v"}))
    api.create("configmaps", config_map("a", data={"": "v", ".": "v", "..": "v", "..a": "v", "k" * 254: "v"}))
    api.create("configmaps", {**config_map("a", data={"k": "v"}), "binaryData": {"k": "AA=="}})


@case("a lease to the microsecond")
def _(api: Api) -> None:
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "2001-02-03T04:05:06.123456Z"}
    api.create("leases", named("coordination.k8s.io/v1", "Lease", "a", spec=spec))
    api.patch("leases", "a", {"spec": {"renewTime": "2001-02-03T04:05:06.7Z"}})
    api.patch("leases", "a", {"spec": {"renewTime": "2001-02-03T04:05:06Z"}})
    api.patch("leases", "a", {"spec": {"renewTime": "2001-02-03T04:05:06+01:00"}})


@case("leases that cannot be")
def _(api: Api) -> None:
    for spec in (
        {"leaseDurationSeconds": 0},
        {"leaseTransitions": -1},
        {"renewTime": "now"},
        {"holderIdentity": ""},
    ):
        api.create("leases", named("coordination.k8s.io/v1", "Lease", "a", spec=spec))


@case("one event seen through two groups")
def _(api: Api) -> None:
    involved = {
        "kind": "Pod",
        "name": "p",
        "namespace": api.namespace,
        "uid": "11111111-2222-3333-4444-555555555555",
    }
    body = {
        "involvedObject": involved,
        "reason": "Tested",
        "message": "words",
        "type": "Normal",
        "count": 3,
        "firstTimestamp": "2001-02-03T04:05:06Z",
        "lastTimestamp": "2001-02-03T05:05:06Z",
        "source": {"component": "test", "host": "here"},
    }
    api.create("events", named("v1", "Event", "a", **body))
    api.get("events.k8s.io/v1/events", "a")
    api.list("events.k8s.io/v1/events")
    api.watch("events.k8s.io/v1/events", events=1)


@case("one event seen through two groups, the other way round")
def _(api: Api) -> None:
    body = {
        "regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        "eventTime": "2001-02-03T04:05:06.123456Z",
        "reportingController": "example.com/test",
        "reportingInstance": "test-1",
        "action": "Testing",
        "reason": "Tested",
        "note": "words",
        "type": "Warning",
    }
    api.create("events.k8s.io/v1/events", named("events.k8s.io/v1", "Event", "a", **body))
    api.get("events", "a")
    api.delete("events", "a")
    api.get("events.k8s.io/v1/events", "a")


@case("events that cannot be")
def _(api: Api) -> None:
    api.create("events", named("v1", "Event", "a"))
    api.create(
        "events",
        named("v1", "Event", "a", involvedObject={"kind": "Pod", "namespace": "default", "name": "p"}),
    )
    api.create("events.k8s.io/v1/events", named("events.k8s.io/v1", "Event", "a"))


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
        api.create(
            "horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec)
        )


@case("roles that cannot be")
def _(api: Api) -> None:
    for rules in (
        [{}],
        [{"verbs": ["get"]}],
        [{"verbs": ["get"], "apiGroups": [""], "nonResourceURLs": ["/a"]}],
    ):
        api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "a", rules=rules))
    api.create("rolebindings", named("rbac.authorization.k8s.io/v1", "RoleBinding", "a"))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Nonsense", "name": "a"}
    api.create("rolebindings", named("rbac.authorization.k8s.io/v1", "RoleBinding", "a", roleRef=role))


@case("a cluster role that is put together of others")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    rule = {"clusterRoleSelectors": [{"matchLabels": {"part-of": name}}]}
    api.create(
        "clusterroles", named("rbac.authorization.k8s.io/v1", "ClusterRole", name, aggregationRule=rule)
    )


@case("role bindings of every subject")
def _(api: Api) -> None:
    role = {"kind": "Role", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}
    subjects = [
        {"kind": "User", "name": "somebody"},
        {"kind": "Group", "name": "some"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
    ]
    api.create(
        "rolebindings",
        named("rbac.authorization.k8s.io/v1", "RoleBinding", "a", roleRef=role, subjects=subjects),
    )


@case("volumes and claims that cannot be")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("persistentvolumes", named("v1", "PersistentVolume", name))
    api.create(
        "persistentvolumes", named("v1", "PersistentVolume", name, spec={"capacity": {"storage": "1Gi"}})
    )
    api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a"))
    api.create(
        "persistentvolumeclaims",
        named("v1", "PersistentVolumeClaim", "a", spec={"accessModes": ["Nonsense"]}),
    )


@case("a claim's spec can hardly be changed")
def _(api: Api) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a", spec=spec))
    api.patch("persistentvolumeclaims", "a", {"spec": {"accessModes": ["ReadWriteMany"]}})
    api.patch("persistentvolumeclaims", "a", {"metadata": {"labels": {"l": "1"}}})
    api.delete("persistentvolumeclaims", "a")


@case("ingresses that cannot be")
def _(api: Api) -> None:
    api.create("ingresses", named("networking.k8s.io/v1", "Ingress", "a"))
    path = {"path": "relative", "backend": {"service": {"name": "a", "port": {"number": 80}}}}
    api.create(
        "ingresses",
        named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": [{"http": {"paths": [path]}}]}),
    )
    api.create(
        "ingresses", named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": [{"host": "1.2.3.4"}]})
    )


@case("an ingress with a rule, and its generation")
def _(api: Api) -> None:
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": "a", "port": {"name": "http"}}},
    }
    spec = {"ingressClassName": "none", "rules": [{"host": "example.com", "http": {"paths": [path]}}]}
    api.create("ingresses", named("networking.k8s.io/v1", "Ingress", "a", spec=spec))
    api.patch("ingresses", "a", {"spec": {"ingressClassName": "other"}})


@case("disruption budgets")
def _(api: Api) -> None:
    selector = {"matchLabels": {"a": "b"}}
    for name, spec in (
        ("number", {"minAvailable": 1, "selector": selector}),
        ("percent", {"maxUnavailable": "50%", "selector": selector}),
        ("both", {"minAvailable": 1, "maxUnavailable": 1}),
        ("negative", {"minAvailable": -1}),
        ("words", {"minAvailable": "many"}),
    ):
        api.create("poddisruptionbudgets", named("policy/v1", "PodDisruptionBudget", name, spec=spec))


@case("endpoint slices")
def _(api: Api) -> None:
    version = "discovery.k8s.io/v1"
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}], "ports": [{"port": 80}]}
    api.create("endpointslices", named(version, "EndpointSlice", "a", **body))
    api.patch("endpointslices", "a", {"ports": [{"port": 81, "name": "http"}]})
    api.create("endpointslices", named(version, "EndpointSlice", "b"))
    api.create("endpointslices", named(version, "EndpointSlice", "b", addressType="Nonsense", endpoints=[]))
    api.create(
        "endpointslices",
        named(version, "EndpointSlice", "b", addressType="IPv4", endpoints=[{"addresses": []}]),
    )


@case("priority classes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", name, value=7))
    api.patch("priorityclasses", name, {"value": 8})
    api.patch("priorityclasses", name, {"description": "words"})
    api.create(
        "priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", f"{name}2", value=2000000000)
    )
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", f"system-{name}", value=1))


@case("storage classes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create(
        "storageclasses", named("storage.k8s.io/v1", "StorageClass", name, provisioner="example.com/a")
    )
    api.patch("storageclasses", name, {"provisioner": "example.com/b"})
    api.patch("storageclasses", name, {"parameters": {"a": "b"}})
    api.create("storageclasses", named("storage.k8s.io/v1", "StorageClass", f"{name}2"))


@case("nodes")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("nodes", named("v1", "Node", name, spec={"unschedulable": True, "podCIDR": "192.0.2.0/24"}))
    api.list("nodes", fieldSelector=f"metadata.name={name},spec.unschedulable=true")
    api.patch("nodes", name, {"spec": {"unschedulable": None}})
    api.patch("nodes", name, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
    api.patch("nodes", name, {"spec": {"podCIDR": "198.51.100.0/24"}})
    api.delete("nodes", name)


@case("quotas and limits")
def _(api: Api) -> None:
    api.create("resourcequotas", named("v1", "ResourceQuota", "a", spec={"hard": {"services": "0"}}))
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}}]
    api.create("limitranges", named("v1", "LimitRange", "a", spec={"limits": limits}))
    api.create(
        "limitranges",
        named("v1", "LimitRange", "b", spec={"limits": [{"type": "Container", "max": {"cpu": "x"}}]}),
    )


@case("network policies and their generation")
def _(api: Api) -> None:
    version = "networking.k8s.io/v1"
    api.create(
        "networkpolicies", named(version, "NetworkPolicy", "a", spec={"podSelector": {}, "egress": [{}]})
    )
    api.patch("networkpolicies", "a", {"spec": {"ingress": [{"ports": [{"port": 80}]}]}})
    api.create("networkpolicies", named(version, "NetworkPolicy", "b"))
    api.create(
        "networkpolicies",
        named(version, "NetworkPolicy", "c", spec={"podSelector": {}, "policyTypes": ["Nonsense"]}),
    )


@case("runtime classes and volume attachments stay as they are")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("runtimeclasses", named("node.k8s.io/v1", "RuntimeClass", name, handler="a"))
    api.patch("runtimeclasses", name, {"handler": "b"})
    spec = {"attacher": "example.com", "nodeName": "node", "source": {"persistentVolumeName": "a"}}
    api.create("volumeattachments", named("storage.k8s.io/v1", "VolumeAttachment", name, spec=spec))
    api.patch("volumeattachments", name, {"spec": {"nodeName": "other"}})
    api.create("runtimeclasses", named("node.k8s.io/v1", "RuntimeClass", f"{name}2"))


@case("service accounts")
def _(api: Api) -> None:
    body = {
        "secrets": [{"name": "s"}],
        "imagePullSecrets": [{"name": "i"}],
        "automountServiceAccountToken": False,
    }
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a", **body))


@case("controller revisions stay as they are")
def _(api: Api) -> None:
    body = named("apps/v1", "ControllerRevision", "a", revision=1, data={"any": {"thing": [1, "two", None]}})
    api.create("controllerrevisions", body)
    api.patch("controllerrevisions", "a", {"data": {"any": "other"}})
    api.patch("controllerrevisions", "a", {"revision": 2})


@case("resource claims in each of their versions")
def _(api: Api) -> None:
    spec = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "class", "count": 2}}]}}
    api.create(
        "resource.k8s.io/v1/resourceclaims", named("resource.k8s.io/v1", "ResourceClaim", "a", spec=spec)
    )
    api.get("resource.k8s.io/v1beta2/resourceclaims", "a")
    api.get("resource.k8s.io/v1beta1/resourceclaims", "a")

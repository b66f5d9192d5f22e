"""The built-in kinds that sequences write."""

from __future__ import annotations

from tests.sequences.kinds import FEW, METADATA, TEXT, YES_OR_NO, Kind, conditions, namespaced
from tests.sequences.pod_shapes import POD_SPEC
from tests.sequences.shapes import AnyOf, Dictionary, Items, Scalar, Struct

CONFIG_MAP = Kind(
    namespaced("v1", "configmaps"),
    "v1",
    "ConfigMap",
    Struct(
        {
            "metadata": METADATA,
            "data": Dictionary(("a", "b", "c", "d", "e.txt"), Scalar(("x", "y", "", "line\nline"))),
            "binaryData": Dictionary(("f", "g"), Scalar(("AAEC", "/w=="))),
        },
        often=0.5,
    ),
    {},
)
SERVICE = Kind(
    namespaced("v1", "services"),
    "v1",
    "Service",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    "ports": Items(
                        Struct(
                            {
                                "port": Scalar((80, 443, 53)),
                                "protocol": Scalar(("TCP", "UDP")),
                                "name": Scalar(("web", "dns", "tls")),
                                "targetPort": AnyOf((Scalar((8080, 80)), Scalar(("web",)))),
                                "appProtocol": Scalar(("http",)),
                            },
                            ("port", "name"),
                        ),
                        ("port", "protocol"),
                    ),
                    "selector": Dictionary(("app", "tier"), TEXT),
                    "externalIPs": Items(Scalar(("1.1.1.1", "2.2.2.2"))),
                    "sessionAffinity": Scalar(("ClientIP", "None")),
                    "sessionAffinityConfig": Struct({"clientIP": Struct({"timeoutSeconds": Scalar((10, 20))})}),
                    "publishNotReadyAddresses": YES_OR_NO,
                    "internalTrafficPolicy": Scalar(("Cluster", "Local")),
                    "clusterIP": Scalar(("None",)),
                    "type": Scalar(("ClusterIP",)),
                },
                often=0.25,
            ),
        },
        ("spec",),
    ),
    {"spec": {"ports": [{"port": 80, "name": "web"}]}},
    Struct(
        {
            "loadBalancer": Struct(
                {"ingress": Items(Struct({"ip": Scalar(("1.1.1.1", "2.2.2.2")), "hostname": TEXT}))}
            ),
            "conditions": conditions("Ready", "Synced"),
        },
        often=0.6,
    ),
)
DEPLOYMENT = Kind(
    namespaced("apps/v1", "deployments"),
    "apps/v1",
    "Deployment",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    "replicas": FEW,
                    "minReadySeconds": FEW,
                    "paused": YES_OR_NO,
                    "strategy": Struct(
                        {
                            "type": Scalar(("RollingUpdate",)),
                            "rollingUpdate": Struct(
                                {
                                    "maxSurge": AnyOf((Scalar((1, 2)), Scalar(("25%", "50%")))),
                                    "maxUnavailable": FEW,
                                }
                            ),
                        }
                    ),
                    "template": Struct(
                        {
                            "metadata": Struct(
                                {
                                    "labels": Dictionary(("tier", "zone"), TEXT, least=1),
                                    "annotations": Dictionary(("note", "owner"), TEXT),
                                }
                            ),
                            "spec": POD_SPEC,
                        },
                        often=0.6,
                    ),
                },
                often=0.35,
            ),
        },
        ("spec",),
        often=0.3,
    ),
    {
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {
                "metadata": {"labels": {"app": "x"}},
                "spec": {"containers": [{"name": "web", "image": "image:1"}]},
            },
        }
    },
    Struct(
        {
            "replicas": FEW,
            "readyReplicas": FEW,
            "observedGeneration": FEW,
            "conditions": conditions("Available", "Progressing", "Odd"),
        },
        often=0.5,
    ),
    has_scale=True,
)
POD = Kind(
    namespaced("v1", "pods"),
    "v1",
    "Pod",
    Struct({"metadata": METADATA, "spec": POD_SPEC}, often=0.6),
    {"spec": {"containers": [{"name": "web", "image": "image:1"}]}},
    Struct(
        {
            "phase": Scalar(("Pending", "Running")),
            "message": TEXT,
            "podIP": Scalar(("1.1.1.1", "2.2.2.2")),
            "podIPs": Items(Struct({"ip": Scalar(("1.1.1.1", "2.2.2.2"))}, ("ip",)), ("ip",)),
            "conditions": conditions("Ready", "PodScheduled", "Odd"),
            "containerStatuses": Items(
                Struct(
                    {
                        "name": Scalar(("web", "proxy")),
                        "image": Scalar(("image:1",)),
                        "imageID": TEXT,
                        "ready": YES_OR_NO,
                        "restartCount": FEW,
                    },
                    ("name", "image", "imageID", "ready", "restartCount"),
                )
            ),
        },
        often=0.4,
    ),
)
_TARGET = Struct(
    {"apiVersion": Scalar(("apps/v1",)), "kind": Scalar(("Deployment",)), "name": TEXT},
    ("apiVersion", "kind", "name"),
)
_RULES = Struct(
    {
        "stabilizationWindowSeconds": Scalar((0, 60)),
        "policies": Items(
            Struct(
                {
                    "type": Scalar(("Pods", "Percent")),
                    "value": Scalar((1, 2)),
                    "periodSeconds": Scalar((15, 60)),
                },
                ("type", "value", "periodSeconds"),
            ),
            least=1,
        ),
    },
    ("policies",),
)
_SCALER_MINIMUM = {
    "spec": {"maxReplicas": 9, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
}
SCALER = Kind(
    namespaced("autoscaling/v2", "horizontalpodautoscalers"),
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    "minReplicas": Scalar((1, 2)),
                    "maxReplicas": Scalar((8, 9)),
                    "scaleTargetRef": _TARGET,
                    "metrics": Items(
                        Struct(
                            {
                                "type": Scalar(("Resource",)),
                                "resource": Struct(
                                    {
                                        "name": Scalar(("cpu", "memory")),
                                        "target": Struct(
                                            {
                                                "type": Scalar(("Utilization",)),
                                                "averageUtilization": Scalar((50, 80)),
                                            },
                                            ("type", "averageUtilization"),
                                        ),
                                    },
                                    ("name", "target"),
                                ),
                            },
                            ("type", "resource"),
                        )
                    ),
                    "behavior": Struct({"scaleUp": _RULES, "scaleDown": _RULES}, ("scaleUp",)),
                },
                often=0.4,
            ),
        },
        ("spec",),
    ),
    _SCALER_MINIMUM,
    Struct(
        {
            "currentReplicas": FEW,
            "desiredReplicas": FEW,
            "conditions": conditions("AbleToScale", "ScalingActive"),
        },
        ("desiredReplicas",),
        often=0.5,
    ),
)
OLD_SCALER = Kind(
    namespaced("autoscaling/v1", "horizontalpodautoscalers"),
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    "minReplicas": Scalar((1, 2)),
                    "maxReplicas": Scalar((8, 9)),
                    "scaleTargetRef": _TARGET,
                    "targetCPUUtilizationPercentage": Scalar((50, 80)),
                },
                often=0.4,
            ),
        },
        ("spec",),
    ),
    _SCALER_MINIMUM,
    Struct({"currentReplicas": FEW, "desiredReplicas": FEW}, ("currentReplicas", "desiredReplicas")),
)

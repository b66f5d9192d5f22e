"""What the specs of pods look like."""

from __future__ import annotations

from tests.sequences.kinds import FEW, TEXT, YES_OR_NO
from tests.sequences.shapes import AnyOf, Dictionary, Items, Scalar, Struct

_AMOUNTS = Dictionary(("cpu", "memory", "example.com/gpu"), Scalar(("1", "2", "100m", 1, "1.5")))
_PORTS = Items(
    Struct(
        {
            "containerPort": Scalar((80, 81, 443)),
            "protocol": Scalar(("TCP", "UDP")),
            "name": Scalar(("web", "dns", "tls")),
        },
        ("containerPort",),
    ),
    ("containerPort", "protocol"),
)
_ENVIRONMENT = Items(
    Struct(
        {
            "name": Scalar(("A", "B", "C", "D")),
            "value": TEXT,
            "valueFrom": Struct({"fieldRef": Struct({"fieldPath": Scalar(("metadata.name",))}, ("fieldPath",))}),
        },
        ("name",),
    ),
    ("name",),
)
_MOUNTS = Items(
    Struct(
        {
            "mountPath": Scalar(("/a", "/b", "/c")),
            "name": Scalar(("data", "logs")),
            "readOnly": YES_OR_NO,
            "subPath": TEXT,
        },
        ("mountPath", "name"),
    ),
    ("mountPath",),
)
_PROBE = Struct(
    {
        "httpGet": Struct(
            {
                "path": Scalar(("/", "/ready")),
                "port": AnyOf((Scalar((80,)), Scalar(("web",)))),
                "httpHeaders": Items(Struct({"name": TEXT, "value": TEXT}, ("name", "value"))),
            },
            ("port",),
        ),
        "periodSeconds": Scalar((5, 10)),
        "timeoutSeconds": Scalar((1, 2)),
    },
    ("httpGet",),
)
_CONTAINER = Struct(
    {
        "name": Scalar(("web", "proxy", "log")),
        "image": Scalar(("image:1", "image:2")),
        "command": Items(TEXT),
        "args": Items(TEXT, repeats=0.5),
        "env": _ENVIRONMENT,
        "envFrom": Items(
            Struct({"prefix": TEXT, "configMapRef": Struct({"name": TEXT}, ("name",))}, ("configMapRef",))
        ),
        "ports": _PORTS,
        "resources": Struct({"limits": _AMOUNTS, "requests": _AMOUNTS}),
        "volumeMounts": _MOUNTS,
        "readinessProbe": _PROBE,
        "imagePullPolicy": Scalar(("Always", "IfNotPresent")),
        "securityContext": Struct(
            {
                "runAsUser": Scalar((1000, 1001)),
                "capabilities": Struct({"add": Items(Scalar(("NET_ADMIN", "CHOWN"))), "drop": Items(Scalar(("ALL",)))}),
            }
        ),
    },
    ("name", "image"),
    often=0.2,
)
_TOLERATIONS = Items(
    Struct(
        {
            "key": TEXT,
            "operator": Scalar(("Equal", "Exists")),
            "value": TEXT,
            "effect": Scalar(("NoSchedule", "NoExecute")),
        },
        ("key",),
    ),
    repeats=0.5,
)
_SELECTOR = Struct(
    {
        "matchLabels": Dictionary(("app", "tier"), TEXT),
        "matchExpressions": Items(
            Struct(
                {"key": TEXT, "operator": Scalar(("In", "NotIn")), "values": Items(TEXT, least=1)},
                ("key", "operator", "values"),
            )
        ),
    }
)
_AFFINITY = Struct(
    {
        "podAntiAffinity": Struct(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": Items(
                    Struct(
                        {"topologyKey": Scalar(("zone", "host")), "labelSelector": _SELECTOR},
                        ("topologyKey",),
                    )
                )
            }
        ),
    }
)
POD_SPEC = Struct(
    {
        "containers": Items(_CONTAINER, ("name",), least=1),
        "initContainers": Items(_CONTAINER, ("name",)),
        "volumes": Items(
            Struct(
                {
                    "name": Scalar(("data", "logs", "extra")),
                    "emptyDir": Struct({"medium": Scalar(("Memory", ""))}),
                    "configMap": Struct(
                        {
                            "name": TEXT,
                            "items": Items(Struct({"key": TEXT, "path": TEXT}, ("key", "path"))),
                            "defaultMode": Scalar((420, 256)),
                        },
                        ("name",),
                    ),
                },
                ("name",),
                often=0.4,
            ),
            ("name",),
        ),
        "tolerations": _TOLERATIONS,
        "topologySpreadConstraints": Items(
            Struct(
                {
                    "topologyKey": Scalar(("zone", "host")),
                    "whenUnsatisfiable": Scalar(("DoNotSchedule", "ScheduleAnyway")),
                    "maxSkew": Scalar((1, 2)),
                    "labelSelector": _SELECTOR,
                },
                ("topologyKey", "whenUnsatisfiable", "maxSkew"),
            ),
            ("topologyKey", "whenUnsatisfiable"),
        ),
        "hostAliases": Items(
            Struct({"ip": Scalar(("1.1.1.1", "2.2.2.2")), "hostnames": Items(TEXT, repeats=0.4)}, ("ip",)),
            ("ip",),
        ),
        "imagePullSecrets": Items(Struct({"name": TEXT}, ("name",)), ("name",)),
        "nodeSelector": Dictionary(("zone", "disk"), TEXT),
        "affinity": _AFFINITY,
        "securityContext": Struct(
            {
                "runAsNonRoot": YES_OR_NO,
                "fsGroup": Scalar((1, 2)),
                "supplementalGroups": Items(FEW, repeats=0.5),
            }
        ),
        "terminationGracePeriodSeconds": Scalar((10, 30)),
        "dnsConfig": Struct({"nameservers": Items(Scalar(("1.1.1.1", "8.8.8.8"))), "searches": Items(TEXT)}),
        "restartPolicy": Scalar(("Always",)),
    },
    often=0.15,
)

"""API versions that Kubernetes no longer serves: types and clients for them exist, the embedded server has none."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import masthead
import masthead.aio
import masthead.server
from masthead import NotFoundError
from masthead.api.apps.v1 import Deployment
from masthead.api.apps.v1beta1 import Deployment as OldDeployment
from masthead.api.extensions.v1beta1 import REMOVED_IN, Ingress
from masthead.api.removed import KINDS
from masthead.meta.registry import registry

INGRESS = {
    "apiVersion": "extensions/v1beta1",
    "kind": "Ingress",
    "metadata": {"name": "shop", "namespace": "web"},
    "spec": {
        "backend": {"serviceName": "front", "servicePort": 80},
        "rules": [
            {
                "host": "shop.example.com",
                "http": {"paths": [{"path": "/api", "backend": {"serviceName": "api", "servicePort": "http"}}]},
            }
        ],
    },
    "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1beta1",
    "kind": "Deployment",
    "metadata": {"name": "web", "generation": 3},
    "spec": {
        "replicas": 2,
        "rollbackTo": {"revision": 4},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.7", "ports": [{"containerPort": 80}]}]},
        },
    },
    "status": {"replicas": 2, "conditions": [{"type": "Available", "status": "True"}]},
}
AUTOSCALER = {
    "apiVersion": "autoscaling/v2beta1",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {
        "maxReplicas": 9,
        "scaleTargetRef": {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 80}}],
    },
    "status": {"currentReplicas": 1, "desiredReplicas": 2, "conditions": []},
}
CRON_JOB = {
    "apiVersion": "batch/v1beta1",
    "kind": "CronJob",
    "metadata": {"name": "backup"},
    "spec": {
        "schedule": "0 3 * * *",
        "jobTemplate": {
            "spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b"}], "restartPolicy": "Never"}}}
        },
    },
    "status": {"lastScheduleTime": "2019-05-04T03:00:00Z"},
}


@pytest.mark.parametrize("data", [INGRESS, DEPLOYMENT, AUTOSCALER, CRON_JOB], ids=lambda data: data["kind"])
def test_objects_of_removed_versions_survive_a_round_trip(data: dict[str, Any]) -> None:
    gvk = masthead.GroupVersionKind.of(data["apiVersion"], data["kind"])
    cls = registry.object_class(gvk)

    read = cls.from_dict(data, strict=True)

    assert read.gvk == gvk
    assert read.to_dict() == data
    assert cls.from_yaml(read.to_yaml()).to_dict() == data


def test_fields_of_removed_versions_are_typed() -> None:
    ingress = Ingress.from_dict(INGRESS)

    assert ingress.spec.rules[0].http is not None
    assert ingress.spec.rules[0].http.paths[0].backend.service_port == "http"
    assert ingress.spec.backend is not None
    assert ingress.spec.backend.service_name == "front"
    deployment = OldDeployment.new("web", spec={"rollbackTo": {"revision": 4}})
    assert deployment.spec.rollback_to is not None
    assert deployment.spec.rollback_to.revision == 4


def test_the_registry_finds_removed_kinds_and_does_not_list_them() -> None:
    deployments = masthead.GroupVersionResource("apps", "v1beta1", "deployments")

    assert registry.object_class(OldDeployment.GVK) is OldDeployment
    assert registry.kind_of(deployments) == OldDeployment.GVK
    assert registry.resource_of(OldDeployment.GVK) == deployments
    assert registry.list_class(OldDeployment.GVK).ITEM is OldDeployment
    assert [kind.api_version for kind in registry.kinds() if kind.kind == "Deployment"] == ["apps/v1"]


def test_every_removed_resource_is_marked_with_its_replacement() -> None:
    for api_version, (_, kinds) in KINDS.items():
        for kind, resource in kinds.items():
            facts = (
                registry.object_class(masthead.GroupVersionKind.of(api_version, kind)).RESOURCE if resource else None
            )
            if facts is not None:
                assert facts.replacement
                replacement = masthead.GroupVersionKind.of(facts.replacement, kind)
                assert registry.object_class(replacement).RESOURCE is not None
    assert Deployment.RESOURCE is not None
    assert Deployment.RESOURCE.removal == ""
    assert OldDeployment.RESOURCE is not None
    assert (OldDeployment.RESOURCE.removed_in, OldDeployment.RESOURCE.replacement) == ("1.16", "apps/v1")
    assert OldDeployment.RESOURCE.removal == "Not served since Kubernetes 1.16: use apps/v1."
    assert REMOVED_IN == "1.22"


def test_the_embedded_server_does_not_serve_removed_versions_and_the_error_names_the_replacement() -> None:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        with pytest.raises(NotFoundError) as caught:
            client.apps_v1beta1.deployments("x").list()
        response = client.rest.get("/apis")

    assert caught.value.message == "the server could not find the requested resource"
    assert caught.value.code == 404
    assert str(caught.value).endswith("apps/v1beta1 is not served since Kubernetes 1.16: use apps/v1.")
    assert b'"extensions"' not in response.body


async def test_the_async_client_reaches_removed_versions() -> None:
    async with masthead.server.run() as server, masthead.aio.Client(kubeconfig=server.kubeconfig()) as client:
        with pytest.raises(NotFoundError, match=r"extensions/v1beta1 is not served since Kubernetes 1\.22"):
            await client.extensions_v1beta1.ingresses("x").create(Ingress.new("shop"))


def test_an_informer_of_a_removed_version_lists_that_version() -> None:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        factory = masthead.SharedInformerFactory(client)
        informer = factory.apps_v1beta1.deployments.informer

        assert "deployments" in repr(informer)
        assert informer is factory.informer(OldDeployment)


def test_removed_versions_are_imported_when_used() -> None:
    script = (
        "import sys, masthead, masthead.api.apps.v1\n"
        "from masthead.meta.registry import registry\n"
        "masthead.Client; masthead.SharedInformerFactory; list(registry.kinds())\n"
        "registry.object_class(masthead.GroupVersionKind('apps', 'v1', 'Deployment'))\n"
        "print([name for name in sys.modules if 'beta' in name or name == 'masthead.api.removed'])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"

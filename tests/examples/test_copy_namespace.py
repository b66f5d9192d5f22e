"""copy_namespace.py, on embedded servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.copy_namespace import copy_namespace
from tests.examples.pods import new_deployment, new_pod
from tests.examples.test_widgets import CRD

import masthead
from masthead.api.core.v1 import ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service
from masthead.api.rbac.v1 import RoleBinding

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def client(kube_client: masthead.Client) -> masthead.Client:
    """A cluster with a namespace to copy."""
    core = kube_client.core_v1
    core.namespaces().create(Namespace.new("shop", labels={"team": "blue"}))
    core.config_maps("shop").create(ConfigMap.new("settings", data={"colour": "red"}))
    core.secrets("shop").create(Secret.new("password", string_data={"password": "x"}))
    core.pods("shop").create(new_pod("by-hand"))
    service = {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80, "nodePort": 30080}]}
    core.services("shop").create(Service.new("web", spec=service))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    bound = {"pv.kubernetes.io/bind-completed": "yes", "note": "kept"}
    core.persistent_volume_claims("shop").create(
        PersistentVolumeClaim.new("data", annotations=bound, spec={**claim, "volumeName": "pv-1"})
    )
    kube_client.apps_v1.deployments("shop").create(new_deployment("web"))
    subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": "shop"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    kube_client.rbac_v1.role_bindings("shop").create(RoleBinding.new("view", subjects=subjects, role_ref=role))
    return kube_client


@pytest.fixture
def other() -> Iterator[masthead.Client]:
    """Another cluster."""
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        yield client


LINES = {
    "namespace/copy created",
    "configmap/settings created",
    "secret/password created",
    "service/web created",
    "persistentvolumeclaim/data created",
    "deployment.apps/web created",
    "rolebinding.rbac.authorization.k8s.io/view created",
}


def test_what_somebody_made_is_copied_and_nothing_else(client: masthead.Client) -> None:
    assert set(copy_namespace(client, "shop", client, "copy").splitlines()) == LINES

    core = client.core_v1
    assert core.namespaces().get("copy").metadata.labels["team"] == "blue"
    assert core.config_maps("copy").get("settings").data == {"colour": "red"}
    assert core.secrets("copy").get("password").data == core.secrets("shop").get("password").data
    claim = core.persistent_volume_claims("copy").get("data")
    assert (claim.spec.volume_name, claim.metadata.annotations) == (None, {"note": "kept"})
    [subject] = client.rbac_v1.role_bindings("copy").get("view").subjects
    assert subject.namespace == "copy"
    one, two = core.services("shop").get("web").spec, core.services("copy").get("web").spec
    assert one.cluster_ip != two.cluster_ip
    assert one.ports[0].node_port != two.ports[0].node_port


def test_another_cluster_gets_the_same(client: masthead.Client, other: masthead.Client) -> None:
    assert set(copy_namespace(client, "shop", other, "copy").splitlines()) == LINES
    again = copy_namespace(client, "shop", other, "copy").splitlines()
    assert {line.rpartition(" ")[2] for line in again} == {"unchanged"}


def test_custom_resources_are_copied_too(client: masthead.Client) -> None:
    client.apply_manifests(CRD, field_manager="test")
    client.dynamic("widgets", namespace="shop").create(
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "one"},
            "spec": {"size": 7},
            "status": {"ready": True},
        }
    )
    assert "widget.example.com/one created\n" in copy_namespace(client, "shop", client, "copy")
    assert client.dynamic("widgets", namespace="copy").get("one")["spec"]["size"] == 7


def test_a_namespace_that_is_not_there_is_an_error(client: masthead.Client) -> None:
    with pytest.raises(masthead.NotFoundError):
        copy_namespace(client, "absent", client, "copy")
    with pytest.raises(masthead.NotFoundError):
        client.core_v1.namespaces().get("copy")

"""kubectl, unchanged, against the embedded server; skipped without kubectl."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.server.kubectl import KUBECTL, PATIENCE, Kubectl

import masthead.server
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with masthead.server.run(bootstrap=False) as server:
        yield Kubectl(server, tmp_path)


@pytest.mark.parametrize("tls", [False, True])
def test_kubectl_authenticates_with_the_kubeconfig(tmp_path: Path, tls: bool) -> None:
    with masthead.server.run(tls=tls) as server:
        kubectl = Kubectl(server, tmp_path)
        assert "default" in kubectl("get namespaces")
        assert "kubernetes-admin" in kubectl("auth whoami")
        assert kubectl("auth can-i create pods") == "yes\n"
        assert '"kind":"NamespaceList"' in kubectl("get --raw /api/v1/namespaces").replace(" ", "")
        # kubectl names a folder of its cache after the address.
        named = "".join(str(path) for path in tmp_path.rglob("*"))
        assert "_" in named
        assert str(server.token) not in named


def test_kubectl_works_with_a_server_without_a_token(tmp_path: Path) -> None:
    with masthead.server.run(token=None) as server:
        assert "default" in Kubectl(server, tmp_path)("get namespaces")


def test_another_servers_token_is_rejected(kubectl: Kubectl, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(config.read_text().replace(str(kubectl.server.token), "wrong"))

    assert "You must be logged in to the server" in kubectl.run("get namespaces").stderr


@pytest.mark.slow
def test_kubectl_acts_as_users_and_service_accounts(tmp_path: Path) -> None:
    with masthead.server.run(authorization="rbac") as server:
        kubectl = Kubectl(server, tmp_path)
        token = kubectl("create token default --duration=10m").strip()
        whoami = "auth whoami -o jsonpath={.status.userInfo.username}"
        assert kubectl(f"{whoami} --token={token}") == "system:serviceaccount:default:default"
        assert kubectl(f"{whoami} --as=jane --as-group=devs --as-uid=7") == "jane"
        assert kubectl.run(f"auth can-i create pods --token={token}").stdout == "no\n"
        config = server.write_kubeconfig(tmp_path / "jane.kubeconfig", server.client_certificate("jane", ["devs"]))
        assert kubectl(f"{whoami} --kubeconfig={config}") == "jane"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("configmap a --from-literal=k=v", "configmap"),
        ("secret generic a --from-literal=k=v", "secret"),
        ("deployment a --image=nginx --replicas=2", "deployment.apps"),
        ("job a --image=busybox", "job.batch"),
        ("cronjob a --image=busybox --schedule=@daily", "cronjob.batch"),
        ("serviceaccount a", "serviceaccount"),
        ("service clusterip a --tcp=80", "service"),
        ("role a --verb=get --resource=pods", "role.rbac.authorization.k8s.io"),
        ("quota a --hard=pods=1", "resourcequota"),
        ("namespace a", "namespace"),
        ("priorityclass a --value=7", "priorityclass.scheduling.k8s.io"),
        ("clusterrole a --verb=get --resource=nodes", "clusterrole.rbac.authorization.k8s.io"),
        ("poddisruptionbudget a --selector=app=a --min-available=1", "poddisruptionbudget.policy"),
        ("ingress a --rule=example.com/=svc:80", "ingress.networking.k8s.io"),
    ],
)
def test_create_makes_objects_of_many_kinds(kubectl: Kubectl, command: str, kind: str) -> None:
    assert kubectl(f"create {command}") == f"{kind}/a created\n"
    assert kubectl(f"get {kind} a -o name") == f"{kind}/a\n"
    assert "already exists" in kubectl.run(f"create {command}").stderr


def test_create_token_gives_a_token(kubectl: Kubectl) -> None:
    kubectl("create serviceaccount a")

    assert kubectl("create token a").count(".") == 2


def test_a_dry_run_leaves_nothing(kubectl: Kubectl) -> None:
    assert kubectl("create configmap a --dry-run=server") == "configmap/a created (server dry run)\n"
    assert "NotFound" in kubectl.run("get configmap a").stderr


@pytest.mark.slow
def test_scale_label_and_annotate_change_objects(kubectl: Kubectl) -> None:
    kubectl("create deployment a --image=nginx")
    kubectl("scale deployment a --replicas=3")
    kubectl("scale deployment a --replicas=4 --current-replicas=3")
    kubectl("label deployment a one=1")
    kubectl("annotate deployment a two=2")

    found = kubectl.json("get deployment a")
    assert found["spec"]["replicas"] == 4
    assert found["metadata"]["labels"] == {"app": "a", "one": "1"}
    assert found["metadata"]["annotations"] == {"two": "2"}
    assert kubectl("get deployments -l one=1 -o name") == "deployment.apps/a\n"


def test_wait_sees_the_condition_of_an_object(kubectl: Kubectl) -> None:
    kubectl("create deployment a --image=nginx")
    waiting = kubectl.start("wait --for=jsonpath={.spec.replicas}=3 deployment/a --timeout=20s")
    kubectl("scale deployment a --replicas=3")

    assert waiting.communicate(timeout=PATIENCE)[0] == "deployment.apps/a condition met\n"


@pytest.mark.slow
def test_wait_sees_the_deletion_of_an_object(kubectl: Kubectl) -> None:
    kubectl("create configmap a")
    waiting = kubectl.start("wait --for=delete configmap/a --timeout=20s")
    kubectl("delete configmap a")

    waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0


def test_get_w_prints_changes(kubectl: Kubectl) -> None:
    kubectl("create configmap a")
    watching = kubectl.start("get configmaps -w -o name")
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "configmap/a\n"
        kubectl("create configmap b")
        assert watching.stdout.readline() == "configmap/b\n"
    finally:
        watching.kill()
        watching.communicate()


def test_api_resources_lists_every_kind(kubectl: Kubectl) -> None:
    names = kubectl("api-resources -o name").split()

    assert {"pods", "deployments.apps", "jobs.batch", "leases.coordination.k8s.io"} <= set(names)
    assert "apps/v1" in kubectl("api-versions").split()


def test_delete_waits_until_an_object_is_gone(kubectl: Kubectl) -> None:
    kubectl("create configmap a")

    assert 'configmap "a" deleted' in kubectl("delete configmap a")
    assert "NotFound" in kubectl.run("get configmap a").stderr


def test_delete_namespace_completes(kubectl: Kubectl) -> None:
    kubectl("create namespace demo")
    kubectl("-n demo create configmap a")
    kubectl("-n demo create deployment a --image=nginx")

    assert 'namespace "demo" deleted' in kubectl("delete namespace demo")
    assert "NotFound" in kubectl.run("get namespace demo").stderr


@pytest.mark.slow
@pytest.mark.parametrize(("cascade", "stays"), [("background", False), ("foreground", False), ("orphan", True)])
def test_cascade_decides_about_dependents(kubectl: Kubectl, cascade: str, stays: bool) -> None:
    kubectl("create deployment a --image=nginx")
    owner = kubectl.json("get deployment a")["metadata"]
    kubectl("create configmap child")
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "a",
        "uid": owner["uid"],
        "blockOwnerDeletion": True,
    }
    patch = json.dumps({"metadata": {"ownerReferences": [reference]}}, separators=(",", ":"))
    kubectl(f"patch configmap child --type=merge -p {patch}")

    kubectl(f"delete deployment a --cascade={cascade}")
    kubectl.server.block_until_idle()

    assert (kubectl.run("get configmap child").returncode == 0) is stays


@pytest.mark.slow
def test_delete_all_and_by_label(kubectl: Kubectl) -> None:
    for name in ("a", "b", "c"):
        kubectl(f"create configmap {name}")
    kubectl("label configmap a b l=1")

    kubectl("delete configmap -l l=1")
    assert kubectl("get configmaps -o name") == "configmap/c\n"
    kubectl("delete configmaps --all")
    assert kubectl("get configmaps -o name") == ""


def test_kubectl_and_the_client_continue_what_the_other_has_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    manifest = tmp_path / "map.json"
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"one": "1", "two": "2"},
    }
    manifest.write_text(json.dumps(wanted))
    kubectl(f"apply --validate=false -f {manifest}")

    with masthead.Client(kubeconfig=kubectl.server.kubeconfig()) as client:
        maps = client.core_v1.config_maps("default")
        applied = maps.apply_client_side(ConfigMap.new("a", data={"two": "2", "three": "3"}))
        assert applied.data == {"two": "2", "three": "3"}

        manifest.write_text(json.dumps({**wanted, "data": {"three": "3"}}))
        kubectl(f"apply --validate=false -f {manifest}")
        written = maps.get("a")
        same = maps.apply_client_side(ConfigMap.new("a", data={"three": "3"}))

    assert written.data == {"three": "3"}
    assert same.metadata.resource_version == written.metadata.resource_version

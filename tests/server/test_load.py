"""A server starts from a dump of a cluster."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import masthead
from masthead.errors import ConfigError
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

UID = "11111111-2222-4333-8444-555555555555"
CREATED = "2024-05-06T07:08:09Z"


def _pod(name: str, version: str, **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": UID,
            "creationTimestamp": CREATED,
            "resourceVersion": version,
            **meta,
        },
        "spec": {"nodeName": "worker-1", "containers": [{"name": "app", "image": "shop:1"}]},
        "status": {"phase": "Running", "podIP": "10.244.1.7"},
    }


def _read(server: masthead.server.Server, path: str) -> dict[str, Any]:
    import urllib.request

    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request) as response:
        found: dict[str, Any] = json.load(response)
    return found


def _dump(folder: Path, name: str, kind: str, items: list[dict[str, Any]], version: str = "v1") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"kind": kind, "apiVersion": version, "items": items}))
    return file


def test_pods_of_a_cluster_info_dump_keep_uid_time_status_and_version(tmp_path: Path) -> None:
    node = {"metadata": {"name": "worker-1", "uid": "n-1", "resourceVersion": "40"}, "status": {}}
    _dump(tmp_path, "nodes.json", "NodeList", [node])
    _dump(tmp_path, "shop/pods.json", "PodList", [_pod("cart", "4711")])
    with masthead.server.run(load=tmp_path, kubelet=True, workloads=True) as server:
        server.block_until_idle()
        pod = _read(server, "/api/v1/namespaces/shop/pods/cart")
        nodes = _read(server, "/api/v1/nodes")["items"]
    meta = pod["metadata"]
    assert (meta["uid"], meta["creationTimestamp"], meta["resourceVersion"]) == (UID, CREATED, "4711")
    assert pod["status"]["podIP"] == "10.244.1.7"
    assert [found["metadata"]["name"] for found in nodes] == ["worker-1"]


def test_pod_whose_owner_is_not_in_the_dump_is_not_collected(tmp_path: Path) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "cart", "uid": "gone", "controller": True}
    _dump(tmp_path, "pods.json", "PodList", [_pod("cart-0", "5", ownerReferences=[owner])])
    with masthead.server.run(load=tmp_path) as server:
        server.block_until_idle()
        assert _read(server, "/api/v1/namespaces/shop/pods/cart-0")["metadata"]["ownerReferences"] == [owner]


def test_custom_resources_are_loaded_whatever_the_order_of_files(tmp_path: Path) -> None:
    custom = {"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.acme.io"},
        "spec": {"group": "acme.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    (tmp_path / "a.json").write_text(json.dumps(custom))
    (tmp_path / "b.json").write_text(json.dumps(definition))
    with masthead.server.run(load=tmp_path) as server:
        assert _read(server, "/apis/acme.io/v1/namespaces/default/widgets/a")["spec"] == {"size": 3}


def test_equal_versions_of_two_objects_are_replaced_by_new_ones(tmp_path: Path) -> None:
    _dump(tmp_path, "pods.json", "PodList", [_pod("a", "7"), _pod("b", "7", uid="other")])
    with masthead.server.run(load=[tmp_path / "pods.json"]) as server:
        found = _read(server, "/api/v1/pods")["items"]
    assert len({pod["metadata"]["resourceVersion"] for pod in found}) == 2


def test_broken_object_is_named_with_its_file_document_and_problem(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: 5\n"
    )
    with (
        pytest.raises(ConfigError, match=r"all\.yaml, document 2, ConfigMap b: .*data"),
        masthead.server.run(load=file),
    ):
        pass


@pytest.mark.parametrize(
    ("dumped", "problem"),
    [
        ("{apiVersion: v1, kind: Pod, metadata: {name: web, uid: u}}", "Pod web: spec.containers: Required value"),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: web, uid: u}, spec: {containers: []}}",
            "Pod web: spec.containers: Required value",
        ),
        (
            "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web, uid: u}, spec: {selector: {}}}",
            "DaemonSet web: spec.selector: Required value",
        ),
        (
            "{apiVersion: batch/v1, kind: Job, metadata: {name: web, uid: u}, spec: {template: {}}}",
            "Job web: spec.selector: Required value",
        ),
        ("{apiVersion: v1, kind: Pod, metadata: {name: web}}", 'Pod "web" is invalid: spec.containers: Required'),
        ("{apiVersion: v1, kind: Secret, metadata: {name: A}}", 'Secret "A" is invalid: metadata.name: Invalid value'),
        ("{apiVersion: v1, kind: Secret, metadata: {}}", "name or generateName is required"),
    ],
)
def test_object_without_what_controllers_rely_on_is_refused(tmp_path: Path, dumped: str, problem: str) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(dumped)
    with pytest.raises(ConfigError, match=problem), masthead.server.run(load=file, workloads=True, kubelet=True):
        pass


def _load(tmp_path: Path, *documents: Any) -> Path:
    file = tmp_path / "all.yaml"
    file.write_text("\n---\n".join(map(json.dumps, documents)))
    return file


def test_manifests_are_created_as_by_a_client(tmp_path: Path) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "busybox"}]}}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": template["spec"]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    with masthead.server.run(load=_load(tmp_path, bare, job, service), workloads=True) as server:
        server.block_until_idle()
        pods = _read(server, "/api/v1/namespaces/default/pods")["items"]
        created = _read(server, "/apis/batch/v1/namespaces/default/jobs/j")
        address = _read(server, "/api/v1/namespaces/default/services/s")["spec"]["clusterIP"]
    assert (
        created["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] == created["metadata"]["uid"]
    )
    owners = {pod["metadata"]["name"].partition("-")[0]: "ownerReferences" in pod["metadata"] for pod in pods}
    assert owners == {"bare": False, "j": True}
    assert address.startswith("10.")


def test_manifest_keeps_its_status(tmp_path: Path) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Lost"},
    }
    with masthead.server.run(load=_load(tmp_path, claim)) as server:
        found = _read(server, "/api/v1/namespaces/shop/persistentvolumeclaims/data")
    assert found["status"]["phase"] == "Lost"


def test_manifest_of_what_the_cluster_has_already_updates_it(tmp_path: Path) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "labels": {"team": "a"}},
        "imagePullSecrets": [{"name": "registry"}],
    }
    with masthead.server.run(load=_load(tmp_path, account)) as server:
        found = _read(server, "/api/v1/namespaces/default/serviceaccounts/default")
    assert (found["metadata"]["labels"], found["imagePullSecrets"]) == ({"team": "a"}, [{"name": "registry"}])


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"name": "b", "uid": "u"}, "its uid u is that of configmaps default/a in"),
        ({"name": "a", "uid": "v"}, "another object of this name, with uid u, is in"),
        ({"name": "a"}, "another object of this name is in"),
    ],
)
def test_two_objects_with_the_same_name_or_uid_are_refused(tmp_path: Path, other: Any, problem: str) -> None:
    first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}}
    file = _load(tmp_path, first, {**first, "metadata": other})
    with pytest.raises(ConfigError, match=problem), masthead.server.run(load=file):
        pass


def test_devices_and_compressed_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a file nor a folder"), masthead.server.run(load="/dev/zero"):
        pass
    file = tmp_path / "all.yaml.gz"
    file.write_bytes(gzip.compress(b"{}"))
    with pytest.raises(ConfigError, match="it is compressed"), masthead.server.run(load=file):
        pass


def test_unknown_kinds_are_skipped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("{apiVersion: x.io/v1, kind: Gadget, metadata: {name: a}}\n")
    with pytest.raises(ConfigError, match=r"Unknown kinds: x\.io/v1 Gadget \(1\)"), masthead.server.run(load=file):
        pass
    file.write_text(file.read_text() + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
    with masthead.server.run(load=file) as server:
        assert _read(server, "/api/v1/namespaces/default/configmaps/a")
    assert "x.io/v1 Gadget (1)" in caplog.text


def test_unknown_fields_are_named_with_file_and_object(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    containers = [{"name": name, "image": "a", "comand": ["x"]} for name in "cd"]
    template = {"metadata": {"labels": {"a": "w"}}, "spec": {"containers": containers}}
    spec = {"replica": 3, "selector": {"matchLabels": {"a": "w"}}, "template": template}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": spec}
    (tmp_path / "typo.yaml").write_text(json.dumps(manifest))
    with masthead.server.run(load=tmp_path) as server:
        spec = _read(server, "/apis/apps/v1/namespaces/default/deployments/w")["spec"]

    place = f"{tmp_path}/typo.yaml, document 1, Deployment w"
    assert spec["replicas"] == 1
    assert [record.getMessage() for record in caplog.records if "unknown" in record.getMessage()] == [
        f'{place}: the unknown field "spec.replica" is not loaded',
        f'{place}: the unknown field "spec.template.spec.containers[1].comand" is not loaded',
    ]


def test_an_unknown_field_of_many_objects_is_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pods = [_pod(name, str(version), uid=f"u-{name}") for version, name in enumerate("abc", 1)]
    for pod in pods[1:]:
        pod["spec"]["fromLater"] = True
    _dump(tmp_path, "pods.json", "PodList", pods)
    with masthead.server.run(load=tmp_path) as server:
        assert len(_read(server, "/api/v1/namespaces/shop/pods")["items"]) == 3

    message = 'item 1, Pod shop/b: the unknown field "spec.fromLater" is not loaded, nor those of 1 more of this kind'
    assert [message in record.getMessage() for record in caplog.records] == [True]


def test_unknown_fields_of_custom_resources_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "sites", "kind": "Site"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "sites.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    site = {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "a"}, "spec": {"sise": 1}}
    (tmp_path / "a.json").write_text(json.dumps(definition))
    (tmp_path / "b.json").write_text(json.dumps(site))
    with masthead.server.run(load=tmp_path):
        pass

    assert 'b.json, document 1, Site a: the unknown field "spec.sise" is not loaded' in caplog.text


def test_dump_is_refused_if_the_data_file_has_objects(tmp_path: Path) -> None:
    file = _dump(tmp_path, "pods.json", "PodList", [_pod("a", "7")])
    data = tmp_path / "data.db"
    with masthead.server.run(load=file, data=data):
        pass
    with masthead.server.run(data=data) as server:
        assert _read(server, "/api/v1/namespaces/shop/pods/a")["metadata"]["uid"] == UID
    with pytest.raises(ConfigError, match="empty store"), masthead.server.run(load=file, data=data):
        pass


def test_pod_whose_owner_is_not_in_the_dump_survives_a_restart_from_the_data_file(tmp_path: Path) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "cart", "uid": "gone", "controller": True}
    file = _dump(tmp_path, "pods.json", "PodList", [_pod("cart-0", "5", ownerReferences=[owner])])
    data = tmp_path / "data.db"
    with masthead.server.run(load=file, data=data):
        pass
    with masthead.server.run(data=data) as server:
        server.block_until_idle()
        snapshot = server.snapshot()
        assert _read(server, "/api/v1/namespaces/shop/pods/cart-0")["metadata"]["ownerReferences"] == [owner]
    with masthead.server.run(snapshot=snapshot) as server:
        server.block_until_idle()
        assert _read(server, "/api/v1/namespaces/shop/pods/cart-0")["metadata"]["ownerReferences"] == [owner]


def _text(server: masthead.server.Server, path: str) -> str:
    import urllib.request

    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request) as response:
        found: bytes = response.read()
    return found.decode()


def test_logs_of_a_cluster_info_dump_are_the_logs_of_its_containers(tmp_path: Path) -> None:
    pod = _pod("cart", "4711")
    pod["spec"]["containers"].append({"name": "proxy", "image": "proxy:1"})
    _dump(tmp_path, "shop/pods.json", "PodList", [pod])
    (tmp_path / "shop/cart").mkdir()
    (tmp_path / "shop/gone").mkdir()
    (tmp_path / "shop/cart/logs.txt").write_text(
        "==== START logs for container app of pod shop/cart ====\n"
        "one\n==== END logs for container proxy of pod shop/cart ====\ntwo\n"
        "==== END logs for container app of pod shop/cart ====\n"
        "==== START logs for container proxy of pod shop/cart ====\n"
        "three\ncut off"
    )
    (tmp_path / "shop/gone/logs.txt").write_text("==== START logs for container app of pod shop/gone ====\nfour\n")
    with masthead.server.run(load=tmp_path, kubelet=True) as server:
        logs = "/api/v1/namespaces/shop/pods/cart/log?container="
        shown = _text(server, logs + "app"), _text(server, logs + "proxy")
    assert shown == ("one\n==== END logs for container proxy of pod shop/cart ====\ntwo\n", "three\ncut off")


def test_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"), masthead.server.run(load=tmp_path / "none"):
        pass


def test_command_reports_a_broken_dump_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from masthead_server.command import main

    file = tmp_path / "broken.json"
    file.write_text("{")
    assert main(["--load", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"python -m masthead.server: cannot load {file}: ")
    assert error.count("\n") == 1


def test_paths_of_another_type_are_refused() -> None:
    wrong: Any = 5
    with pytest.raises(ConfigError, match="load must be a path"), masthead.server.run(load=wrong):
        pass


def _load_replica_set(folder: Path) -> Path:
    """Write a dump of a ReplicaSet that has been available for long."""
    common = {"creationTimestamp": "2031-02-03T04:05:06Z", "labels": {"app": "cart"}}
    template = {"metadata": {"labels": {"app": "cart"}}, "spec": {"containers": [{"name": "app", "image": "shop:1"}]}}
    replica_set = {
        "metadata": _pod("cart-1", "2", **common, uid="uid-2")["metadata"],
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "cart"}}, "template": template},
        "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "cart-1", "uid": "uid-2", "controller": True}
    pod = _pod("cart-1-a", "3", **common, uid="uid-3", ownerReferences=[owner])
    pod["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": "2031-02-03T05:00:00Z"}]
    _dump(folder, "sets.json", "ReplicaSetList", [replica_set], "apps/v1")
    _dump(folder, "pods.json", "PodList", [pod])
    return folder


def test_a_virtual_clock_begins_after_the_times_of_a_dump(tmp_path: Path) -> None:
    with masthead.server.run(load=_load_replica_set(tmp_path), clock=VirtualClock, workloads=True) as server:
        server.block_until_idle()
        server.advance(600)
        server.block_until_idle()
        status = _read(server, "/apis/apps/v1/namespaces/shop/replicasets/cart-1")["status"]
        namespace = _read(server, "/api/v1/namespaces/shop")

    assert status["availableReplicas"] == 1
    assert namespace["metadata"]["creationTimestamp"] == "2031-02-03T05:00:01Z"


def test_a_virtual_clock_with_a_start_begins_there(tmp_path: Path) -> None:
    clock = VirtualClock(datetime(2030, 1, 1, tzinfo=UTC))
    with masthead.server.run(load=_load_replica_set(tmp_path), clock=clock) as server:
        namespace = _read(server, "/api/v1/namespaces/shop")

    assert namespace["metadata"]["creationTimestamp"] == "2030-01-01T00:00:00Z"


def test_a_virtual_clock_goes_on_after_a_restart(tmp_path: Path) -> None:
    def create_namespace(server: masthead.server.Server, name: str) -> str:
        with masthead.Client(kubeconfig=server.kubeconfig()) as client:
            made = client.core_v1.namespaces.create({"metadata": {"name": name}})
        return str(made.to_dict()["metadata"]["creationTimestamp"])

    file = tmp_path / "cluster.db"
    with masthead.server.run(data=file, clock=VirtualClock) as server:
        server.advance(86400)
        assert create_namespace(server, "first") == "2026-01-02T00:00:00Z"
        snapshot = server.snapshot()
    with masthead.server.run(data=file, clock=VirtualClock) as server:
        assert create_namespace(server, "second") == "2026-01-02T00:00:01Z"
    with masthead.server.run(snapshot=snapshot, clock=VirtualClock) as server:
        assert create_namespace(server, "second") == "2026-01-02T00:00:01Z"

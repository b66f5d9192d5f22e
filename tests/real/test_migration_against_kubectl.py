"""Migration from client-side to server-side apply, beside what ``kubectl apply --server-side`` makes of the same
object."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, service
from tests.server.kubectl import KUBECTL

import masthead
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

Plain = dict[str, Any]
PATIENCE = 60
OBJECTS: dict[str, tuple[Plain, Plain]] = {
    "config map": (config_map("it", data={"a": "1", "b": "2"}), config_map("it", data={"a": "1", "c": "3"})),
    "deployment": (deployment("it", replicas=2), deployment("it", replicas=3, labels={"tier": "front"})),
    "service": (
        service("it", spec={"ports": [{"port": 80}], "selector": {"a": "b"}}),
        service("it", spec={"ports": [{"port": 80}]}),
    ),
}


@pytest.fixture(scope="module")
def client(real_server: RealServer) -> Iterator[masthead.Client]:
    config = Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    with masthead.Client(config) as made:
        yield made


@pytest.mark.parametrize("manager", ["kubectl", "us"])
@pytest.mark.parametrize(("before", "after"), OBJECTS.values(), ids=OBJECTS)
def test_a_migrated_object_is_what_kubectl_makes_of_it(
    real_server: RealServer,
    client: masthead.Client,
    tmp_path: Path,
    manager: str,
    before: Plain,
    after: Plain,
) -> None:
    command = [
        *(str(KUBECTL), "--server", real_server.url, "--token", real_server.token),
        *("--certificate-authority", str(real_server.ca_file), "--cache-dir", str(tmp_path)),
    ]

    def apply(wanted: Plain, namespace: str, *flags: str) -> None:
        done = subprocess.run(
            [*command, "apply", "--namespace", namespace, "-f", "-", *flags],
            input=json.dumps(wanted),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    made: dict[str, Plain] = {}
    for tool in ("kubectl", "masthead"):
        namespace = client.core_v1.namespaces().create({"metadata": {"generateName": f"migrated-{tool}-"}})
        apply(before, namespace.metadata.name)
        if tool == "kubectl":
            apply(
                after,
                namespace.metadata.name,
                "--server-side",
                "--force-conflicts",
                f"--field-manager={manager}",
            )
        else:
            client.apply_manifests([after], namespace=namespace.metadata.name, field_manager=manager, force=True)
        found = client.dynamic(after["apiVersion"], after["kind"], namespace=namespace.metadata.name).get("it")
        made[tool] = comparable(found.to_dict(), namespace.metadata.name)
        client.core_v1.namespaces().delete(namespace.metadata.name)

    assert made["masthead"] == made["kubectl"]
    operations = {each["operation"] for each in made["masthead"]["metadata"]["managedFields"]}
    assert operations == {"Apply"}


def comparable(obj: Plain, namespace: str) -> Plain:
    """An object without what differs from one namespace, or moment, to the next."""
    text = json.dumps(obj).replace(namespace, "NAMESPACE")
    plain: Plain = json.loads(text)
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        plain["metadata"].pop(name)
    for entry in plain["metadata"]["managedFields"]:
        entry.pop("time", None)
    for name in ("clusterIP", "clusterIPs"):
        plain.get("spec", {}).pop(name, None)
    return plain

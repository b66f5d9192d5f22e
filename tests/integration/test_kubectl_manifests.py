"""kubectl and this client take turns: with one apply set, and with the same differences."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, service
from tests.server.kubectl import KUBECTL, Kubectl

from masthead.errors import ArgumentError
from masthead.manifests import ApplySet

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Cluster

    from masthead.config import Config

pytestmark = [
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl; MASTHEAD_KUBECTL names one"),
]

APPLY = "apply -f - --prune --applyset=configmaps/set"
ALPHA = {"KUBECTL_APPLYSET": "true"}
OURS = ApplySet("configmaps/set", tooling="kubectl/v1.36.4")


class RealKubectl(Kubectl):
    """kubectl, as a user of a real cluster."""

    def __init__(self, config: Config, folder: Path) -> None:
        content = {
            "clusters": [
                {
                    "name": "c",
                    "cluster": {"server": config.server, "certificate-authority": str(config.ca_file)},
                }
            ],
            "users": [{"name": "u", "user": {"token": config.token.reveal()}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(content), "utf-8")
        self.command = [str(KUBECTL), "--kubeconfig", str(kubeconfig), "--cache-dir", str(folder / "cache")]


@pytest.fixture
def kubectl(cluster: Cluster, tmp_path: Path) -> Kubectl:
    if cluster.embedded is not None:
        return Kubectl(cluster.embedded, tmp_path)
    return RealKubectl(cluster.config, tmp_path)


def stream(*manifests: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def keys(objects: Any) -> list[str]:
    return [f"{each.kind} {each.metadata.name}" for each in objects]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--server-side", "--server-side=false"])
async def test_a_set_of_kubectl_is_pruned_here(client: Any, namespace: str, kubectl: Kubectl, how: str) -> None:
    given = stream(config_map("a"), config_map("b"), service("web"))
    kubectl(f"{APPLY} {how} -n {namespace}", stdin=given, env=ALPHA)

    result = await client.apply_manifests(
        config_map("a"), namespace=namespace, apply_set=OURS, prune=True, field_manager="us"
    )

    assert keys(result) == ["ConfigMap a"]
    assert keys(result.pruned) == ["Service web", "ConfigMap b"]
    again = kubectl(f"{APPLY} {how} -n {namespace}", stdin=stream(config_map("a")), env=ALPHA)
    assert "pruned" not in again


async def test_a_set_of_this_client_is_pruned_by_kubectl(client: Any, namespace: str, kubectl: Kubectl) -> None:
    manifests = [config_map("a"), config_map("b"), service("web")]
    await client.apply_manifests(manifests, namespace=namespace, apply_set=OURS, prune=True, field_manager="us")

    done = kubectl(f"{APPLY} --server-side -n {namespace}", stdin=stream(config_map("a")), env=ALPHA)

    assert sorted(done.splitlines()) == [
        "configmap/a serverside-applied",
        "configmap/b pruned",
        "service/web pruned",
    ]
    result = await client.apply_manifests(
        config_map("a"), namespace=namespace, apply_set=OURS, prune=True, field_manager="us"
    )
    assert not result.has_changes


async def test_neither_touches_a_set_of_the_other_unasked(client: Any, namespace: str, kubectl: Kubectl) -> None:
    kubectl(f"{APPLY} --server-side -n {namespace}", stdin=stream(config_map("a")), env=ALPHA)
    with pytest.raises(ArgumentError, match="managed by the tooling 'kubectl'"):
        await client.apply_manifests(
            config_map("b"), namespace=namespace, apply_set="configmaps/set", prune=True, field_manager="us"
        )

    await client.apply_manifests(
        config_map("b"), namespace=namespace, apply_set="configmaps/ours", prune=True, field_manager="us"
    )
    refused = kubectl.run(
        f"apply -f - --prune --applyset=configmaps/ours --server-side -n {namespace}",
        stdin=stream(config_map("a")),
        env=ALPHA,
    )
    assert 'is managed by tooling "masthead" instead of "kubectl"' in refused.stderr


@pytest.mark.parametrize("client_side", [False, True])
async def test_a_diff_has_the_lines_of_kubectl(
    client: Any, namespace: str, kubectl: Kubectl, client_side: bool
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"a": "1", "b": "2"},
    }
    manifests = [config_map("a", data={"x": "1"}), deployment("web", replicas=1), secret]
    options = {"namespace": namespace, "field_manager": "kubectl", "client_side": client_side}
    await client.apply_manifests(manifests, **options)
    manifests[0]["data"] = {"x": "2", "z": "true"}
    manifests[1]["spec"]["replicas"] = 3
    secret["stringData"] = {"a": "3"}

    ours = await client.diff_manifests(manifests, **options)
    how = "" if client_side else "--server-side"
    theirs = kubectl.run(f"diff -f - {how} --field-manager=kubectl -n {namespace}", stdin=stream(*manifests))

    assert theirs.returncode == 1, theirs.stderr
    assert _changed(ours.text) == _changed(theirs.stdout)


def _changed(text: str) -> list[str]:
    """The added and removed lines, however their values are quoted.

    Without the annotation of client-side apply: kubectl shows the values of Secrets there, which are masked here.
    """
    lines = [line for line in text.splitlines() if re.match(r"[-+](?![-+])", line)]
    kept = [line for line in lines if "last-applied-configuration" not in line and '{"apiVersion"' not in line]
    return sorted(line.replace('"', "'") for line in kept)

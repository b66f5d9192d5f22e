"""The programs of examples/ do what they say, on the embedded server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from examples import deploy
from examples.images_in_use import images_in_use
from examples.pods_by_node import pods_by_node
from examples.wait_for_rollout import main

from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Pod
from masthead.meta import Patch

if TYPE_CHECKING:
    import masthead

FOLDER = Path(__file__).parents[2] / "examples"


def pod(name: str, image: str = "nginx", node: str = "") -> Pod:
    return Pod.new(name, spec={"nodeName": node or None, "containers": [{"name": "a", "image": image}]})


def test_pods_by_node_follows_what_changes(kube_client: masthead.Client) -> None:
    pods = kube_client.core_v1.pods("default")
    pods.create(pod("a", node="node-1"))
    pods.create(pod("waiting"))
    live = pods_by_node(kube_client)
    assert next(live) == {"node-1": 1}

    pods.create(pod("b", node="node-2"))
    # What was there already may be delivered after the first yield.
    assert next(counts for counts in live if len(counts) == 2) == {"node-1": 1, "node-2": 1}
    pods.delete("a", grace_period_seconds=0)
    assert next(counts for counts in live if len(counts) == 1) == {"node-2": 1}
    live.close()


def test_images_in_use_counts_every_container(kube_client: masthead.Client) -> None:
    for name, image in [("a", "nginx"), ("b", "nginx"), ("c", "redis")]:
        kube_client.core_v1.pods("default").create(pod(name, image))

    assert images_in_use(kube_client) == {"nginx": 2, "redis": 1}


@pytest.fixture
def deployment(
    kube_client: masthead.Client, kubeconfig_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Deployment:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_file))
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "a", "image": "b"}]},
        },
    }
    return kube_client.apps_v1.deployments("default").create(Deployment.new("web", spec=spec))


def test_wait_for_rollout_ends_when_the_deployment_is_there(
    kube_client: masthead.Client, deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
    status = {**counts, "observedGeneration": deployment.metadata.generation}
    kube_client.apps_v1.deployments("default").patch_status("web", Patch.merge({"status": status}))

    assert main(["default", "web"]) == 0
    assert capsys.readouterr().out == "deployment default/web is rolled out\n"


def test_wait_for_rollout_says_what_it_waited_for_or_what_is_missing(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["default", deployment.metadata.name, "0.1"]) == 1
    assert "the deployment is rolled out" in capsys.readouterr().err
    assert main(["default", "absent"]) == 1
    assert 'deployments.apps "absent" not found' in capsys.readouterr().err


def test_an_example_runs_as_a_program(kube_client: masthead.Client, kubeconfig_file: Path) -> None:
    kube_client.core_v1.pods("default").create(pod("a"))
    done = subprocess.run(
        [sys.executable, FOLDER / "images_in_use.py"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig_file)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["1", "nginx"], "")


def test_custom_resources_are_typed_all_the_way(kube_client: masthead.Client, kubeconfig_file: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "custom_resources.py"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig_file)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (
        0,
        ["large: red, 2kg", "small: red, 2kg", "spec: Invalid value: large widgets are red"],
        "",
    )
    assert kube_client.dynamic("wd", namespace="default").get("small")["spec"]["size"] == 1


def test_the_classes_of_the_example_are_those_of_its_definition() -> None:
    command = [sys.executable, "-m", "masthead", "generate", "--check"]
    files = ["--crd", str(FOLDER / "widget_crd.yaml"), "--out", str(FOLDER / "widgets_api")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_program_is_listed(program: Path) -> None:
    assert f"python examples/{program.name}" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_deploy_shows_makes_and_prunes(
    kubeconfig_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_file))
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("one", "two"):
        manifest = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{a: b}}}}"
        (folder / f"{name}.yaml").write_text(manifest, "utf-8")

    assert deploy.main(["default", str(folder)]) == 0
    assert "+++ MERGED/v1.ConfigMap.default.one\n" in capsys.readouterr().out
    assert deploy.main(["default", str(folder), "--yes"]) == 0
    assert capsys.readouterr().out == "configmap/one created\nconfigmap/two created\n"
    assert deploy.main(["default", str(folder)]) == 0
    assert capsys.readouterr().out == "nothing would change\n"
    (folder / "two.yaml").unlink()
    assert deploy.main(["default", str(folder), "--yes"]) == 0
    assert capsys.readouterr().out == "configmap/one unchanged\nconfigmap/two pruned\n"
    (folder / "one.yaml").write_text("nothing", "utf-8")
    assert deploy.main(["default", str(folder), "--yes"]) == 1
    assert "is not an object" in capsys.readouterr().err

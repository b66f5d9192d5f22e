"""wait_for_rollout.py, on the embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.wait_for_rollout import main
from tests.examples.pods import new_deployment

from masthead.meta import Patch

if TYPE_CHECKING:
    from pathlib import Path

    import masthead


@pytest.fixture(autouse=True)
def cluster(kubeconfig_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_file))


def test_it_ends_when_the_deployments_are_there(
    kube_client: masthead.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    deployments = kube_client.apps_v1.deployments("default")
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
    for name in ("api", "web"):
        made = deployments.create(new_deployment(name))
        status = {**counts, "observedGeneration": made.metadata.generation}
        deployments.patch_status(name, Patch.merge({"status": status}))

    main(["api", "web"])
    assert capsys.readouterr().out == ("deployment default/api is rolled out\ndeployment default/web is rolled out\n")


def test_it_says_what_it_waited_for(kube_client: masthead.Client) -> None:
    kube_client.apps_v1.deployments("default").create(new_deployment("web"))
    with pytest.raises(SystemExit, match="the deployment is rolled out"):
        main(["web", "--timeout", "0.1"])


def test_it_does_not_wait_for_what_is_missing() -> None:
    with pytest.raises(SystemExit, match=r'deployments\.apps "absent" not found'):
        main(["absent", "--namespace", "default"])

"""The comparisons with other frameworks say what is so.

With ``MASTHEAD_KOPF_PYTHON``, the path of a Python that has kopf and kubernetes, the operator for kopf is run as well.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.real.website_life import NAMESPACE, ForbiddenCalls, Life

import masthead
import masthead.aio
import masthead.server
from masthead.api.core.v1 import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KOPF = (ROOT / "docs/coming-from-kopf.md").read_text("utf-8")
EXAMPLE = (ROOT / "examples/website/website.py").read_text("utf-8")
SMALL, OURS, THEIRS = re.findall(r"```py\n(.*?)```", KOPF, re.DOTALL)
(DEFINITION,) = re.findall(r"```yaml\n(.*?)```", KOPF, re.DOTALL)
PYTHON = os.environ.get("MASTHEAD_KOPF_PYTHON", "")


def count(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def test_our_side_is_the_example() -> None:
    assert OURS in EXAMPLE
    compile(THEIRS, "their side", "exec")


def test_lines_are_counted_correctly() -> None:
    row = f"| {count(THEIRS)}, and {count(DEFINITION)} of YAML | {count(EXAMPLE)}, the definition included |"
    assert row in KOPF


def test_every_document_says_how_long_the_example_is_in_the_same_way() -> None:
    lines = len(EXAMPLE.splitlines())
    said = {
        "README.md": f"an operator of {lines} lines",
        "docs/coming-from-controller-runtime.md": f"`examples/website` has {lines} lines",
        "docs/coming-from-kopf.md": f"`examples/website/website.py`: {lines} lines",
        "docs/operators.md": f"a complete operator in {lines} lines",
    }

    for document, sentence in said.items():
        assert sentence in (ROOT / document).read_text("utf-8")


async def changes_of_others_stay(client: masthead.aio.Client, name: str) -> bool:
    """Scale the Deployment of a site and delete its Service; return whether nobody undoes it."""
    deployments, services = client.apps_v1.deployments(NAMESPACE), client.core_v1.services(NAMESPACE)
    await deployments.patch(name, masthead.Patch.merge({"spec": {"replicas": 7}}))
    await services.delete(name)
    await asyncio.sleep(3)
    scaled = await deployments.get(name)
    return scaled.spec.replicas == 7 and name not in {each.metadata.name for each in await services.list()}


@pytest.fixture(params=[THEIRS], ids=["websites"])
def operated_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[masthead.server.Server]:
    """A server with an operator for kopf."""
    if not PYTHON:
        pytest.skip("MASTHEAD_KOPF_PYTHON names no Python with kopf")
    (tmp_path / "operator_for_kopf.py").write_text(request.param, "utf-8")
    with masthead.server.run(tls=True) as server:
        server.write_kubeconfig(tmp_path / "config")
        with masthead.Client(kubeconfig=server.kubeconfig()) as client:
            client.apply_manifests([yaml.safe_load(DEFINITION)], field_manager="test")
        command = [PYTHON, "-m", "kopf", "run", "-A", "--standalone", "operator_for_kopf.py"]
        environment = {**os.environ, "KUBECONFIG": str(tmp_path / "config")}
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
        try:
            yield server
        finally:
            process.terminate()
            process.wait(30)


async def test_the_operator_for_kopf_does_the_same_but_repairs_nothing(
    operated_server: masthead.server.Server,
) -> None:
    async with masthead.aio.Client(kubeconfig=operated_server.kubeconfig()) as client:
        assert await Life(client, ForbiddenCalls()).run("shop")

        sites = client.dynamic("example.com/v1", "websites", namespace=NAMESPACE)
        await sites.create({"metadata": {"name": "blog"}, "spec": {"image": "nginx"}})
        services = client.core_v1.services(NAMESPACE)
        await services.wait_for("blog", masthead.conditions.exists(), timeout=20)
        assert await changes_of_others_stay(client, "blog")


@pytest.mark.parametrize("operated_server", [SMALL], ids=["small"], indirect=True)
async def test_the_small_operator_for_kopf_repairs_nothing_and_copies_secrets(
    operated_server: masthead.server.Server,
) -> None:
    async with masthead.aio.Client(kubeconfig=operated_server.kubeconfig()) as client:
        secrets, maps = client.core_v1.secrets("default"), client.core_v1.config_maps("default")
        await secrets.create(Secret.new("door", labels={"mirror": "keys"}, string_data={"b": "2", "a": "1"}))
        made = await maps.wait_for("door", masthead.conditions.exists(), timeout=30)
        assert made is not None
        assert made.data == {"keys": "a,b"}

        await maps.delete("door")
        await asyncio.sleep(3)
        assert "door" not in {each.metadata.name for each in await maps.list()}
        (copied,) = (await secrets.get("door")).metadata.annotations.values()
        assert '"a":"MQ=="' in copied

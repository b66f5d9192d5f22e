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

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KOPF = (ROOT / "docs/coming-from-kopf.md").read_text("utf-8")
EXAMPLE = (ROOT / "examples/website/website.py").read_text("utf-8")
OURS, THEIRS = re.findall(r"```py\n(.*?)```", KOPF, re.DOTALL)
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
    assert f"`examples/website/website.py`: {len(EXAMPLE.splitlines())} lines" in KOPF


async def changes_of_others_stay(client: masthead.aio.Client, name: str) -> bool:
    """Scale the Deployment of a site and delete its Service; return whether nobody undoes it."""
    deployments, services = client.apps_v1.deployments(NAMESPACE), client.core_v1.services(NAMESPACE)
    await deployments.patch(name, masthead.Patch.merge({"spec": {"replicas": 7}}))
    await services.delete(name)
    await asyncio.sleep(3)
    scaled = await deployments.get(name)
    return scaled.spec.replicas == 7 and name not in {each.metadata.name for each in await services.list()}


@pytest.fixture
def operated_server(tmp_path: Path) -> Iterator[masthead.server.Server]:
    """A server with the operator for kopf."""
    if not PYTHON:
        pytest.skip("MASTHEAD_KOPF_PYTHON names no Python with kopf")
    (tmp_path / "operator_for_kopf.py").write_text(THEIRS, "utf-8")
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

"""The documents say what is there."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import masthead
from masthead.config import Config

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path.name.removesuffix(".py")
    for path in (ROOT / "src" / "masthead").iterdir()
    if not path.name.startswith(("__", "."))
)

BESIDE_A_SERVER = """
import os, runpy, sys
import masthead.server

with masthead.server.run() as server:
    server.write_kubeconfig(os.environ["KUBECONFIG"])
    runpy.run_path(sys.argv[1], run_name="__main__")
"""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "py.typed"])
def test_every_package_is_described_in_the_architecture(package: str) -> None:
    assert re.search(rf"`{package}(/|\.py)?`", read("ARCHITECTURE.md"))


@pytest.mark.parametrize(
    "module", sorted(path.stem for path in (ROOT / "src/masthead/_meta").glob("[a-z]*.py"))
)
def test_every_module_of_meta_is_named_in_its_package_docstring(module: str) -> None:
    assert f"`{module}`" in read("src/masthead/_meta/__init__.py")


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/client.md",
        "docs/informers.md",
        "docs/testing-operators.md",
        "docs/leader-election.md",
        "docs/server.md",
        "docs/workqueue.md",
        "docs/conformance.md",
    ],
)
def test_every_make_target_that_a_document_names_is_there(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))

    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", read(document), re.MULTILINE)) <= targets


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
        "docs/apply.md",
        "docs/client.md",
        "docs/coming-from-controller-runtime.md",
        "docs/coming-from-kopf.md",
        "docs/custom-resources.md",
        "docs/events.md",
        "docs/glossary.md",
        "docs/in-cluster.md",
        "docs/decisions/README.md",
        "docs/informers.md",
        "docs/testing-operators.md",
        "docs/leader-election.md",
        "docs/objects.md",
        "docs/performance.md",
        "docs/printers.md",
        "docs/operators.md",
        "docs/running.md",
        "docs/scaling-out.md",
        "docs/server.md",
        "docs/streams.md",
        "docs/workqueue.md",
        "docs/versions.md",
    ],
)
def test_every_link_within_the_repository_leads_somewhere(document: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", read(document)):
        assert ((ROOT / document).parent / target).exists(), target


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "docs/apply.md",
        "docs/client.md",
        "docs/coming-from-controller-runtime.md",
        "docs/custom-resources.md",
        "docs/events.md",
        "docs/in-cluster.md",
        "docs/informers.md",
        "docs/testing-operators.md",
        "docs/leader-election.md",
        "docs/objects.md",
        "docs/printers.md",
        "docs/operators.md",
        "docs/running.md",
        "docs/scaling-out.md",
        "docs/server.md",
        "docs/streams.md",
        "docs/workqueue.md",
    ],
)
def test_the_examples_of_a_document_run(document: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", read(document), re.DOTALL)
    assert blocks
    # As if they were read from top to bottom in one session, which is not this one: they register kinds.
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")

    # Where readers have a cluster of theirs, the examples find an empty one.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BESIDE_A_SERVER, script],
        env={**os.environ, "KUBECONFIG": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", ["README.md", "docs/client.md", "docs/server.md"])
def test_what_is_shown_for_pytest_is_python(document: str) -> None:
    for block in re.findall(r"```py\n(.*?)```", read(document), re.DOTALL):
        compile(block, document, "exec")


@pytest.mark.parametrize("field", [each.name for each in dataclasses.fields(Config)])
def test_every_field_of_config_is_in_the_manual(field: str) -> None:
    table = read("docs/client.md").partition("### The fields of `Config`")[2].partition("\n## ")[0]

    assert f"`{field}`" in table


def test_the_manifests_for_a_cluster_are_accepted_by_a_server(kube_client: masthead.Client) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", read("docs/in-cluster.md"), re.DOTALL)

    for obj in masthead.load_manifests(text, strict=True):
        resource = kube_client.resource(type(obj), obj.metadata.namespace or None)
        resource.create(obj, field_validation="Strict")

    (subject,) = kube_client.rbac_v1.cluster_role_bindings().get("node-counter").subjects
    deployment = kube_client.apps_v1.deployments("shop").get("node-counter")
    assert subject.name == deployment.spec.template.spec.service_account_name
    kube_client.core_v1.service_accounts(subject.namespace or "").get(subject.name)

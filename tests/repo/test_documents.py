"""The documents say what is there."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from tools.site.pages import links

import masthead
from masthead.config import Config

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path.name.removesuffix(".py")
    for path in (ROOT / "src" / "masthead").iterdir()
    if not path.name.startswith(("__", "."))
)

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "demo/**/*.md")
    for path in ROOT.glob(pattern)
)

SHOWN_TESTS = re.compile(r"^```py\n(import (?:(?!^```).)*?^(?:async )?def test_.*?)^```", re.DOTALL | re.MULTILINE)
"""Tests that can be run as they stand: they begin with imports."""

BESIDE_A_SERVER = """
import os, runpy, sys
import masthead.server

with masthead.server.run() as server:
    server.write_kubeconfig(os.environ["KUBECONFIG"])
    runpy.run_path(sys.argv[1], run_name="__main__")
"""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def resolve(name: str) -> object:
    """A module, or an attribute of one or of a class; None if there is no such thing."""
    found: object = masthead
    for number, part in enumerate(name.split(".")[1:], start=2):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(name.split(".")[:number]))
            except ImportError:
                return None
        found = getattr(found, part)
    return found


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and the documentation site make them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: Counter[str] = Counter()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        found[re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")] += 1
    return {*found, *(f"{each}-{number}" for each in found for number in range(1, found[each]))}


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "py.typed"])
def test_every_package_is_described_in_the_architecture(package: str) -> None:
    assert re.search(rf"`{package}(/|\.py)?`", read("ARCHITECTURE.md"))


@pytest.mark.parametrize("module", sorted(path.stem for path in (ROOT / "src/masthead/_meta").glob("[a-z]*.py")))
def test_every_module_of_meta_is_named_in_its_package_docstring(module: str) -> None:
    assert f"`{module}`" in read("src/masthead/_meta/__init__.py")


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if "coming-from" not in each])
def test_every_make_target_that_a_document_names_is_there(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))

    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", read(document), re.MULTILINE)) <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_public_name_that_a_document_mentions_is_there(document: str) -> None:
    for name in re.findall(r"(?<!logger )`(masthead(?:\.[A-Za-z]\w*)+)", read(document)):
        assert resolve(name) is not None, name


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_within_the_repository_leads_somewhere(document: str) -> None:
    path = ROOT / document
    for target, anchor in links(read(document)):
        found = path.parent / target
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor[1:] in anchors(found), f"{target}{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_within_a_document_leads_somewhere(document: str) -> None:
    found = set(re.findall(r"\]\(#([^)]+)\)", read(document)))

    assert found <= anchors(ROOT / document)


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if "```python\n" in read(each)])
def test_the_examples_of_a_document_run(document: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", read(document), re.DOTALL | re.MULTILINE)
    # As if they were read from top to bottom in one session, which is not this one: they register kinds.
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")

    # Where readers have a cluster of theirs, the examples find an empty one.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BESIDE_A_SERVER, script],
        env={**os.environ, "KUBECONFIG": str(tmp_path / "config")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if "```py\n" in read(each)])
def test_what_is_shown_and_not_run_is_python(document: str) -> None:
    for block in re.findall(r"^```py\n(.*?)^```", read(document), re.DOTALL | re.MULTILINE):
        compile(block, document, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize(
    "document",
    # tests/clients runs the programs of that document, each with its client.
    [each for each in DOCUMENTS if SHOWN_TESTS.search(read(each)) and not each.endswith("works-with-your-client.md")],
)
def test_the_tests_that_a_document_shows_pass(document: str, tmp_path: Path) -> None:
    for number, block in enumerate(SHOWN_TESTS.findall(read(document))):
        (tmp_path / f"test_{number}.py").write_text(block, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if "```yaml\n" in read(each)])
def test_what_is_shown_as_yaml_is_yaml(document: str) -> None:
    for block in re.findall(r"^```yaml\n(.*?)^```", read(document), re.DOTALL | re.MULTILINE):
        assert list(yaml.safe_load_all(block))


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

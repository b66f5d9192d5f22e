"""Manifests become objects, or an error names which file, document and object is at fault."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead import Unstructured, load_manifests
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ManifestError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
# Copyright
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, fromTheFuture: true}
---
# only a comment
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {generateName: settings-}, data: {a: b}}
- {apiVersion: v1, kind: SecretList, items: [{metadata: {name: key}}]}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 3}}
---
"""


def test_each_document_becomes_an_object_of_its_class() -> None:
    deployment, settings, key, widget = load_manifests(TEXT)

    assert isinstance(deployment, Deployment)
    assert deployment.spec.replicas == 2
    assert deployment.to_dict()["spec"]["fromTheFuture"] is True  # nothing is lost
    assert isinstance(settings, ConfigMap)
    assert settings.data == {"a": "b"}
    assert isinstance(key, Secret)
    assert isinstance(widget, Unstructured)
    assert widget.get("spec", "size") == 3


def test_text_bytes_files_paths_and_folders_load_the_same_objects(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(TEXT)
    expected = [manifest.to_dict() for manifest in load_manifests(TEXT)]
    sources: list[Any] = [TEXT.encode(), io.StringIO(TEXT), io.BytesIO(TEXT.encode())]
    sources += [tmp_path, tmp_path / "all.yaml", [tmp_path / "all.yaml"]]

    for source in sources:
        assert [manifest.to_dict() for manifest in load_manifests(source)] == expected


def test_a_document_of_comments_only_yields_no_object() -> None:
    assert load_manifests("# nothing\n---\n---\n") == []


def test_every_problem_names_its_file_document_and_object(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "---\n# nothing\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"
        "spec: {replicas: three}\n---\nkind: Pod\n"
    )
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: 8675309}\n")
    (tmp_path / "c.yaml").write_text("a: [\n")

    with pytest.raises(ManifestError) as caught:
        load_manifests(tmp_path)

    a, b, c, d = caught.value.problems
    assert a == (
        f"{tmp_path / 'a.yaml'}, document 2: Deployment shop/web: spec.replicas: expected an integer, got a string ('three')"  # noqa: E501
    )
    assert b == f"{tmp_path / 'a.yaml'}, document 3: apiVersion and kind are required"
    assert c == f'{tmp_path / "b.yaml"}, document 1: Secret s: stringData["a"]: has a value of the wrong type'
    assert d.startswith(f"{tmp_path / 'c.yaml'}: ")
    assert str(caught.value).startswith("these manifests cannot be read:\n  ")
    assert "8675309" not in str(caught.value)


def test_fields_that_the_class_does_not_know_are_refused_on_request() -> None:
    with pytest.raises(ManifestError, match='document 2: Deployment shop/web: spec: DeploymentSpec has no field "from'):
        load_manifests("---\n" + TEXT.removeprefix("# Copyright\n"), strict=True)
    with pytest.raises(ManifestError, match='Secret s: Secret has no field "dta"; did you mean "data"'):
        load_manifests({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "dta": {}}, strict=True)


def test_a_path_given_as_a_string_is_rejected_with_a_hint() -> None:
    with pytest.raises(ManifestError, match=r'is not an object \(to read a file, give pathlib\.Path\("\.\.\."\)\)'):
        load_manifests("deploy/web.yaml")


def test_both_facades_export_load_manifests() -> None:
    assert masthead.load_manifests is masthead.aio.load_manifests

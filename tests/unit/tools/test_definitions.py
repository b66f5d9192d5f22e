"""The generator of what OpenAPI says about types beyond their classes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tools import definitions

from masthead.errors import GenerateError

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "io.k8s.api.apps.v1"
KIND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "data": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"}]},
        "kind": {"type": "string"},
        "metadata": {
            "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
            "default": {},
        },
        "revision": {"type": "integer", "format": "int64", "default": 0},
    },
    "required": ["revision"],
    "x-kubernetes-group-version-kind": [{"group": "apps", "kind": "ControllerRevision", "version": "v1"}],
}


def folder_with(folder: Path, **schemas: Any) -> Path:
    documents = folder / "openapi-v3"
    documents.mkdir()
    named = {f"{PACKAGE}.{name}": schema for name, schema in schemas.items()}
    (documents / "apis__apps__v1.json").write_text(json.dumps({"components": {"schemas": named}}), "utf-8")
    return folder


def test_only_what_a_class_does_not_say_is_written(tmp_path: Path) -> None:
    written = definitions.from_folder(folder_with(tmp_path, ControllerRevision=KIND))

    assert "ControllerRevision data:@io.k8s.apimachinery.pkg.runtime.RawExtension revision:#\n" in written
    assert f'"{PACKAGE}": (\n        "apps.v1",' in written


def test_a_field_that_the_class_lacks_is_an_error(tmp_path: Path) -> None:
    more = {**KIND, "properties": {**KIND["properties"], "novel": {"type": "string"}}}

    with pytest.raises(GenerateError, match=f"{PACKAGE}.ControllerRevision has something"):
        definitions.from_folder(folder_with(tmp_path, ControllerRevision=more))


def test_documents_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GenerateError, match="has no OpenAPI documents"):
        definitions.from_folder(tmp_path)
    assert definitions.main(["--openapi", str(tmp_path), "--out", str(tmp_path / "facts.py")]) == 2
    assert "has no OpenAPI documents" in capsys.readouterr().err


def test_documents_must_be_json(tmp_path: Path) -> None:
    documents = tmp_path / "openapi-v3"
    documents.mkdir()
    (documents / "broken.json").write_text("{", "utf-8")

    with pytest.raises(GenerateError, match="does not have OpenAPI documents"):
        definitions.from_folder(tmp_path)


def test_the_module_is_written_to_a_file(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, ControllerRevision=KIND)
    out = tmp_path / "facts.py"

    assert definitions.main(["--openapi", str(folder), "--out", str(out)]) == 0
    assert out.read_text("utf-8") == definitions.from_folder(folder)

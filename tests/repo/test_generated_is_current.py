"""The committed files are what the generators make of the embedded server's documents: ``make codegen`` changes
nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import api, clientset, definitions, documents, files, protobuf

from masthead._codegen import sources
from masthead._schema.schema import Schema
from masthead.errors import GenerateError

ROOT = Path(__file__).parents[2]
API = ROOT / "src" / "masthead" / "api"
FACTS = ROOT / "src" / "masthead" / "_schema" / "builtin" / "facts.py"
PROTOBUF = ROOT / "server" / "src" / "masthead_server" / "wire" / "protobuf_table.py"
SHARED = ROOT.parent / "shared"
LEGACY = SHARED / "kubernetes-legacy"
NUMBERS = SHARED / "kubernetes-1.36" / "protobuf-fields.json"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents of the embedded server."""
    folder = tmp_path_factory.mktemp("documents")
    documents.save_embedded(folder)
    return folder


def test_generating_the_types_again_changes_nothing(saved: Path) -> None:
    assert files.changes(api.from_folders(saved), API, api.FOLDERS) == []


def test_generating_the_clientset_again_changes_nothing(saved: Path) -> None:
    assert files.changes(clientset.from_folders(saved), API.parent, clientset.FOLDERS) == []


def test_generating_the_facts_of_types_again_changes_nothing(saved: Path) -> None:
    assert definitions.from_folder(saved) == FACTS.read_text("utf-8")


def test_every_field_has_a_protobuf_number(saved: Path) -> None:
    spec = sources.from_folder(saved)

    protobuf.check_table(spec)
    spec.schemas["io.k8s.api.core.v1.PodSpec"].properties["newField"] = Schema(type="string")
    with pytest.raises(GenerateError, match=r"the protobuf table lacks core\.v1\.PodSpec\.newField: name a file"):
        protobuf.check_table(spec)


@pytest.mark.skipif(not LEGACY.is_dir(), reason=f"there is no {LEGACY}")
def test_removed_versions_read_back_from_their_classes_are_those_of_old_releases(saved: Path) -> None:
    assert api.from_folders(saved) == api.from_folders(saved, LEGACY)


@pytest.mark.skipif(not NUMBERS.is_file(), reason=f"there is no {NUMBERS}")
def test_generating_the_protobuf_table_again_changes_nothing(saved: Path) -> None:
    assert protobuf.from_documents(saved, NUMBERS) == PROTOBUF.read_text("utf-8")


def test_nothing_lies_beside_what_is_generated(saved: Path) -> None:
    made = api.from_folders(saved)

    assert {path.relative_to(API).as_posix() for path in API.rglob("*.py")} == {str(path) for path in made}


def test_two_runs_say_the_same(saved: Path) -> None:
    one, other = (api.from_folders(saved) for _ in range(2))

    assert one == other


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_the_order_of_sets_does_not_show(seed: str, saved: Path) -> None:
    arguments = ["--openapi", str(saved), "--out", str(API), "--check"]

    done = subprocess.run(
        [sys.executable, "-m", "tools.api", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )

    assert (done.returncode, done.stdout) == (0, "")

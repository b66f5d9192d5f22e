"""``masthead crds``: definitions as text, in files, and on a server."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.customresource.random_classes import RandomModule

import masthead
from masthead._cli.main import main
from masthead._meta import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULE = '''
from typing import Annotated

import masthead
from masthead.crd import Field
from masthead.meta import Struct


class KettleSpec(Struct):
    """What is in it."""

    liters: Annotated[float, Field(minimum=0, maximum=10)] = 1.5
    owner: str
    """Whose it is."""


class Kettle(masthead.CustomResource, group="kitchen.example.com", version="v1"):
    spec: KettleSpec


class KettleV1Alpha1(
    masthead.CustomResource, group="kitchen.example.com", version="v1alpha1", kind="Kettle", storage=False
):
    spec: KettleSpec


class Spoon(masthead.CustomResource, group="kitchen.example.com", version="v1"):
    length: int = 3
'''
BROKEN = """
import masthead
class Kettle(masthead.CustomResource, group="kitchen.example.com", version="v1"):
    size: complex
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with custom resources, in the working directory; it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "kitchen_kinds.py"
    path.write_text(MODULE, encoding="utf-8")
    yield path
    # Only this one: tests have modules that end alike.
    for name in [each for each in sys.modules if each.rpartition(".")[2] == path.stem]:
        del sys.modules[name]


def test_it_prints_all_definitions_of_a_module(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", module.name]) == 0

    printed = capsys.readouterr().out
    documents: list[Any] = [*yaml.load_all(printed.encode())]
    assert [document["metadata"]["name"] for document in documents] == [
        "kettles.kitchen.example.com",
        "spoons.kitchen.example.com",
    ]
    assert [each["name"] for each in documents[0]["spec"]["versions"]] == ["v1", "v1alpha1"]
    assert "description: Whose it is." in printed
    assert "maximum: 10\n" in printed


def test_it_prints_one_kind(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", f"{module.stem}:Spoon"]) == 0
    assert capsys.readouterr().out.count("kind: CustomResourceDefinition\n") == 1


def test_it_writes_files_and_tells_when_they_are_out_of_date(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deploy" / "crds"

    assert main(["crds", module.name, "--out", str(folder), "--check"]) == 1
    assert "kettles.kitchen.example.com.yaml is out of date; write it with --out" in capsys.readouterr().err
    assert main(["crds", module.name, "--out", str(folder)]) == 0
    assert sorted(each.name for each in folder.iterdir()) == [
        "kettles.kitchen.example.com.yaml",
        "spoons.kitchen.example.com.yaml",
    ]
    assert main(["crds", module.name, "--out", str(folder), "--check"]) == 0
    (folder / "spoons.kitchen.example.com.yaml").write_text("old", encoding="utf-8")
    capsys.readouterr()
    assert main(["crds", module.name, "--out", str(folder), "--check"]) == 1
    assert "kettles" not in capsys.readouterr().err


def test_it_installs_them(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with masthead.server.run() as server:
        config = tmp_path / "config"
        config.write_text(server.kubeconfig(), encoding="utf-8")
        assert main(["crds", module.name, "--install", "--kubeconfig", str(config)]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "customresourcedefinition.apiextensions.k8s.io/kettles.kitchen.example.com created",
            "customresourcedefinition.apiextensions.k8s.io/spoons.kitchen.example.com created",
        ]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--context", "no"], 3, "masthead crds: CONFIG: there is no context 'no'"),
        (["--kubeconfig", "/no/such/file"], 3, "masthead crds: /no/such/file: does not exist\nhint: "),
        (
            ["--kubeconfig", "dead"],
            3,
            "masthead crds: apply CustomResourceDefinition kettles.kitchen.example.com: ",
        ),
        ([], 5, "masthead crds: apply CustomResourceDefinition kettles.kitchen.example.com: "),
    ],
)
def test_it_ends_as_all_commands_do_that_talk_to_a_cluster(
    arguments: list[str],
    code: int,
    line: str,
    module: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with masthead.server.run() as server:
        server.faults.fail(403, resource="customresourcedefinitions", times=None)
        config = server.write_kubeconfig(tmp_path / "config")
        (tmp_path / "dead").write_text(
            config.read_text("utf-8").replace(server.url.partition("://")[2], "127.0.0.1:9"), "utf-8"
        )
        given = ["--kubeconfig", str(config), *arguments]
        assert main(["crds", module.name, "--install", *given]) == code
    assert capsys.readouterr().err.startswith(line.replace("CONFIG", str(config)))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("kitchen_kinds:Fork", "masthead crds: kitchen_kinds:Fork: there is no CustomResource of that name in"),
        ("kitchen_kinds:KettleSpec", "masthead crds: kitchen_kinds:KettleSpec: there is no CustomResource"),
        ("no_such_kinds", "masthead crds: there is no module 'no_such_kinds'"),
        ("missing.py", "masthead crds: there is no file missing.py"),
        ("broken_kinds.py", "masthead crds: Kettle.size: complex is not a type of a field: use str, int"),
        ("failing_kinds.py", "masthead crds: failing_kinds.py cannot be imported: ZeroDivisionError: division by zero"),
        ("empty_kinds.py", "masthead crds: empty_kinds: the module has no custom resource"),
        ("old_kinds.py", "masthead crds: Kettle.kitchen.example.com: no version is stored: of v1,"),
    ],
)  # fmt: skip
def test_an_error_is_one_clear_line(
    target: str, message: str, module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (module.parent / "broken_kinds.py").write_text(BROKEN, encoding="utf-8")
    (module.parent / "failing_kinds.py").write_text("1 / 0", encoding="utf-8")
    (module.parent / "empty_kinds.py").write_text("import masthead", encoding="utf-8")
    (module.parent / "old_kinds.py").write_text(
        BROKEN.replace("complex", "int").replace('"v1"', '"v1", storage=False'), encoding="utf-8"
    )

    assert main(["crds", target]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.slow
def test_the_text_is_the_same_in_every_process(tmp_path: Path) -> None:
    names: list[str] = []
    for seed in range(6):
        names.append(f"random_kinds_{seed}")
        (tmp_path / f"{names[-1]}.py").write_text(RandomModule(seed).source, encoding="utf-8")

    def printed(hash_seed: str, *order: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-m", "masthead", "crds", *order],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        )
        return done.stdout

    first = printed("0", *names)
    assert first.count(b"kind: CustomResourceDefinition\n") == 6
    assert printed("1", *names) == first
    assert printed("4711", *reversed(names)) == first

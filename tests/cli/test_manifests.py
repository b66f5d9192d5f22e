"""``apply``, ``diff``, ``delete`` and ``wait``."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    import masthead

    Cli = Callable[..., Ran]

TWO = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: NAMESPACE}
data: {color: red}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
"""


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Manifests of a namespace of the test's own, which is named as the folder."""
    name = str(request.node.name).replace("_", "-")[5:50].rstrip("-")
    made = tmp_path / name
    made.mkdir()
    (made / "two.yaml").write_text(TWO.replace("NAMESPACE", name), "utf-8")
    return made


def test_a_folder_is_applied_compared_waited_for_and_deleted(cli: Cli, folder: Path) -> None:
    name = folder.name
    assert cli(f"diff -f {folder}").code == 1
    dry = cli(f"apply -f {folder} --dry-run").out
    assert dry.startswith(f"namespace/{name} created (server dry run)\nConfigMap {name}/one ")
    assert dry.endswith(" not checked: its kind or namespace does not exist yet (server dry run)\n")
    done = cli(f"apply -f {folder} --wait")
    assert (
        done.out
        == f"namespace/{name} created\nconfigmap/one created\nnamespace/{name} ready\nconfigmap/one ready\n"
    )
    assert cli(f"diff -f {folder}").code == 0
    assert cli(f"wait -f {folder}").code == 0
    gone = cli(f"delete -f {folder}")
    assert gone.out == f'configmap "one" deleted from {name} namespace\nnamespace "{name}" deleted\n'
    assert cli(f"wait -f {folder} --for=delete").code == 0
    assert cli(f"delete -f {folder}").out == "nothing of it exists\n"


def test_a_diff_shows_what_would_change(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = cli("diff -f - -n shop --force-conflicts")

    assert ran.code == 1
    assert "-  color: red\n+  color: blue\n" in ran.out
    assert "\x1b" not in ran.out


def test_a_failed_diff_is_no_difference(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Pood\nmetadata: {name: x}\n", "utf-8")

    assert cli(f"diff -f {tmp_path / 'bad.yaml'}").code == 2


def test_a_diff_without_a_connection_says_so_once(cli: Cli, tmp_path: Path) -> None:
    texts = [f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n" for name in ("a", "b", "c")]
    (tmp_path / "maps.yaml").write_text("---\n".join(texts), "utf-8")

    ran = cli(f"diff -f {tmp_path / 'maps.yaml'} --server http://127.0.0.1:9")

    assert ran.code == 3
    assert ran.err.count("hint:") == 1
    assert ran.err.count("\n") == 2


def test_a_conflict_names_the_option_that_resolves_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: conflict}, data: {color: COLOR}}"
    for color, manager, options, code in (
        ("red", "them", "", 0),
        ("blue", "us", "", 1),
        ("blue", "us", "--force-conflicts", 0),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(text.replace("COLOR", color)))
        ran = cli(f"apply -f - -n shop --field-manager {manager} {options}")
        assert ran.code == code, ran.err
        assert ("--force-conflicts" in ran.err) == bool(code)


def test_what_leaves_an_apply_set_is_pruned(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def text(*names: str) -> io.StringIO:
        return io.StringIO(
            "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {each}}}\n" for each in names)
        )

    line = "apply -f - -n shop --applyset configmaps/set --prune"
    monkeypatch.setattr("sys.stdin", text("kept", "dropped"))
    assert cli(line).code == 0
    monkeypatch.setattr("sys.stdin", text("kept"))
    assert cli(line).out == "configmap/kept unchanged\nconfigmap/dropped pruned\n"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("apply", 2, "name manifests with -f"),
        ("apply -k .", 2, "-k is not supported\nhint: pipe what kustomize prints"),
        ("apply -f https://example.com/x.yaml", 2, "addresses are not supported"),
        ("apply -f /no/such/file", 2, "/no/such/file does not exist"),
        ("apply -f . --prune", 2, "--prune needs an apply set"),
        ("apply -f . --dry-run=client", 2, "--dry-run=server"),
        ("wait pods -n shop", 2, "which pods?"),
        ("wait pods --all --for=happiness", 2, "--for has no form 'happiness'"),
        ("wait pod/web1 -n shop", 4, 'pods "web1" not found in namespace shop\nhint: did you mean web-'),
        ("wait pods -l app=none -n shop", 4, "no object was found"),
        ("delete pods -n shop", 2, "which pods?"),
        ("delete pod/web1 -n shop", 4, "hint: did you mean web-"),
        ("delete -f x pods", 2, "x does not exist"),
    ],
)
def test_wrong_arguments_change_nothing(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("wait cm/settings -n shop", 0, "configmap/settings condition met"),
        ("wait cm settings -n shop --for=jsonpath={.data.color}=red", 0, "condition met"),
        ("wait cm settings -n shop --for=jsonpath={.data.color}", 0, "condition met"),
        ("wait cm settings -n shop --for=jsonpath={.data.color}=blue --timeout=0", 124, ".data.color is red"),
        ("wait cm/settings -n shop --for=delete --timeout=0s", 124, "it exists"),
        ("wait cm/nothing -n shop --for=delete", 0, ""),
        ("wait pods --all -n shop --for=condition=Ready --timeout=0", 124, "Pod shop/web-2"),
        ("wait ns/shop --for=create", 0, "namespace/shop condition met"),
    ],
)
def test_conditions_of_waits(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == code, ran.err
    assert said in ran.out + ran.err


def test_objects_are_deleted_by_name_and_by_label(cli: Cli, client: masthead.Client) -> None:
    maps = client.core_v1.config_maps("shop")
    for name in ("by-name", "by-label-1", "by-label-2"):
        maps.create(ConfigMap.new(name, labels={"which": name[:8]}))

    assert cli("delete cm by-name -n shop --dry-run").out.endswith("(server dry run)\n")
    assert cli("delete cm by-name -n shop").out == 'configmap "by-name" deleted from shop namespace\n'
    assert cli("delete cm by-name -n shop --ignore-not-found").code == 0
    assert cli("delete cm -l which=by-label -n shop").out.count("deleted") == 2
    assert not [each for each in maps.list() if each.metadata.name.startswith("by-")]

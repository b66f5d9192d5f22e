"""``apply``, ``diff``, ``delete`` and ``wait``."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import pod

from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

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


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ("", None),
        ("--grace-period=-1", None),
        ("--grace-period=7", 7),
        ("--grace-period=0", 1),
        ("--now", 1),
        ("--force", 0),
        ("--grace-period=0 --force", 0),
    ],
)
@pytest.mark.parametrize("how", ["-f", "pods"])
def test_the_grace_period_is_that_of_kubectl(
    options: str,
    sent: int | None,
    how: str,
    cli: Cli,
    client: masthead.Client,
    server: Server,
    tmp_path: Path,
) -> None:
    made = client.core_v1.pods("shop").create(pod("short-lived"))
    manifest = tmp_path / "pod.yaml"
    manifest.write_text("{apiVersion: v1, kind: Pod, metadata: {name: short-lived}}", "utf-8")
    before = len(server.requests)

    ran = cli(f"delete {f'-f {manifest}' if how == '-f' else 'pods short-lived'} -n shop {options}")

    done = "force deleted" if sent == 0 else "deleted"
    assert (ran.code, ran.out) == (0, f'pod "{made.metadata.name}" {done} from shop namespace\n'), ran.err
    assert ran.err.startswith("warning: ") == (sent == 0)
    [request] = [each for each in server.requests[before:] if each.method == "DELETE"]
    assert json.loads(request.body).get("gracePeriodSeconds") == sent


@pytest.mark.parametrize("options", ["--now --grace-period=3", "--force --grace-period=3", "--force --now"])
def test_grace_periods_that_contradict_each_other_are_refused(options: str, cli: Cli) -> None:
    ran = cli(f"delete pods --all -n shop {options}")

    assert ran.code == 2
    assert "exclude each other" in ran.err


def test_what_a_controller_makes_anew_is_not_waited_for(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "account.yaml").write_text(
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}", "utf-8"
    )
    ran = cli(f"delete -f {tmp_path / 'account.yaml'} -n shop --timeout 30s")

    assert ran.code == 0
    assert 'serviceaccount "default" deleted from shop namespace\n' in ran.out


def test_messages_name_the_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("{apiVersion: v1, kind: Pood, metadata: {name: x}}"))
    assert "Pood x (standard input, document 1)" in cli("apply -f -").err
    monkeypatch.setattr("sys.stdin", io.StringIO("a: [\n"))
    assert "standard input" in cli("wait -f -").err


def test_an_unreadable_standard_input_is_said_in_a_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    ran = cli("apply -f -")
    assert (ran.code, ran.err) == (2, "masthead apply: the standard input is not text in UTF-8\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    ran = cli("delete -f -")
    assert (ran.code, ran.err) == (2, "masthead delete: the standard input is empty\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("# later\n---\n"))
    ran = cli("apply -f -")
    assert (ran.code, ran.err) == (2, "masthead apply: there are no objects in the manifests\n")

"""``apply``, ``diff``, ``delete`` and ``wait``."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import WIDGETS, pod

import masthead
from masthead._cli.waiting import wait_for_each
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

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
    assert done.out == f"namespace/{name} created\nconfigmap/one created\nnamespace/{name} ready\nconfigmap/one ready\n"
    assert cli(f"diff -f {folder}").code == 0
    assert cli(f"wait -f {folder}").code == 0
    gone = cli(f"delete -f {folder}")
    assert gone.out == f'configmap "one" deleted from {name} namespace\nnamespace "{name}" deleted\n'
    assert cli(f"wait -f {folder} --for=delete").code == 0
    assert cli(f"delete -f {folder}").out == "nothing of it exists\n"


def test_diff_and_dry_run_show_what_apply_removes_from_an_object_of_plain_kubectl_apply(
    cli: Cli, server: Server, tmp_path: Path
) -> None:
    kept = ConfigMap.new("handed-over", data={"kept": "1"})
    both = ConfigMap.new("handed-over", data={"kept": "1", "dropped": "2"})
    with masthead.Client(kubeconfig=server.kubeconfig()) as client:
        client.core_v1.config_maps("default").apply_client_side(both, field_manager="kubectl-client-side-apply")
    path = tmp_path / "kept.json"
    path.write_bytes(kept.to_json())

    shown = cli(f"diff -f {path}")
    assert shown.code == 1
    assert "-  dropped: '2'" in shown.out.splitlines()
    assert cli(f"apply -f {path} --dry-run").out == "configmap/handed-over configured (server dry run)\n"
    assert cli(f"apply -f {path}").out == "configmap/handed-over configured\n"
    assert cli(f"diff -f {path}").code == 0
    assert cli(f"apply -f {path} --dry-run").out == "configmap/handed-over unchanged (server dry run)\n"


def test_apply_and_diff_say_if_they_cannot_show_what_is_removed(
    cli: Cli, client: masthead.Client, tmp_path: Path
) -> None:
    path = tmp_path / "scaler.json"
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    client.apply_manifests([scaler], client_side=True, field_manager="kubectl-client-side-apply")
    path.write_text(json.dumps(scaler | {"apiVersion": "autoscaling/v2"}), "utf-8")
    warning = (
        "HorizontalPodAutoscaler default/web was applied client-side; fields that an apply would remove are not all "
        "shown: some were set in autoscaling/v1\n"
    )

    assert cli(f"apply -f {path} --dry-run").err == f"masthead apply: {warning}"
    assert cli(f"diff -f {path}").err == f"masthead diff: {warning}"


def test_apply_prints_the_warning_that_a_policy_filters_nothing_here(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: default}
spec: {podSelector: {}}
""",
        "utf-8",
    )

    with masthead.server.run(workloads=True) as running:
        running.write_kubeconfig(tmp_path / "kubeconfig")
        done = cli(f"apply -f {path} --kubeconfig {tmp_path / 'kubeconfig'}")

    assert (done.code, done.out) == (0, "networkpolicy.networking.k8s.io/closed created\n")
    assert done.err.startswith("Warning: networkpolicies.networking.k8s.io have no effect on this server")


def test_objects_are_gone_with_their_definition(cli: Cli, tmp_path: Path) -> None:
    text = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.gone.example.com}
spec:
  group: gone.example.com
  scope: Cluster
  names: {plural: gadgets, kind: Gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: gone.example.com/v1, kind: Gadget, metadata: {name: one}}
"""
    path = tmp_path / "gadgets.yaml"
    path.write_text(text, "utf-8")
    assert cli(f"apply -f {path}").code == 0
    assert cli(f"delete -f {path}").code == 0

    ran = cli(f"wait -f {path} --for=delete")

    assert (ran.code, ran.err) == (0, "")


def test_a_diff_shows_what_would_change(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = cli("diff -f - -n shop --force-conflicts")

    assert ran.code == 1
    assert "-  color: red\n+  color: blue\n" in ran.out
    assert "\x1b" not in ran.out


def test_a_failed_diff_is_no_difference(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {}\n", "utf-8")

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
            "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n" for name in names)
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
    (tmp_path / "account.yaml").write_text("{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}", "utf-8")
    ran = cli(f"delete -f {tmp_path / 'account.yaml'} -n shop --timeout 30s")

    assert ran.code == 0
    assert 'serviceaccount "default" deleted from shop namespace\n' in ran.out


HELD = {"metadata": {"name": "held", "finalizers": ["example.com/a", "example.com/b"]}}


def test_delete_says_what_it_waits_for(cli: Cli, client: masthead.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = client.core_v1.config_maps("shop")
    maps.create(ConfigMap.from_dict(HELD))
    monkeypatch.setattr("masthead._cli.commands.delete._NOTICE_SECONDS", 0.0)

    class Releasing(io.StringIO):
        """An error output that removes the finalizers once the command names them."""

        def write(self, text: str) -> int:
            if "example.com/a" in text:
                maps.patch("held", masthead.Patch.merge({"metadata": {"finalizers": None}}))
            return super().write(text)

    output = Releasing()
    monkeypatch.setattr("sys.stderr", output)

    assert cli("delete cm/held -n shop").code == 0
    assert output.getvalue() == (
        "waiting for configmap/held: it still exists: being deleted, finalizers example.com/a, example.com/b\n"
    )


def test_a_timeout_of_delete_names_the_finalizers(cli: Cli, client: masthead.Client) -> None:
    maps = client.core_v1.config_maps("shop")
    maps.create(ConfigMap.from_dict(HELD))

    ran = cli("delete cm/held -n shop --timeout=0s")
    maps.patch("held", masthead.Patch.merge({"metadata": {"finalizers": None}}))

    assert ran.code == 124
    assert ran.err == (
        "masthead delete: waited 0 s until it is gone; ConfigMap shop/held: it still exists: being deleted, "
        "finalizers example.com/a, example.com/b\nhint: wait longer with --timeout\n"
    )


def test_a_timeout_of_delete_names_the_objects_in_a_definition(
    cli: Cli, client: masthead.Client, tmp_path: Path
) -> None:
    (tmp_path / "wears.yaml").write_text(WIDGETS.replace("idget", "ear").replace("[wd]", "[gr]"), "utf-8")
    assert cli(f"apply -f {tmp_path}").code == 0
    wears = client.dynamic("example.com/v1", "Wear", namespace="shop")
    wears.patch("small", masthead.Patch.merge({"metadata": {"finalizers": ["example.com/a"]}}))

    ran = cli("delete crd wears.example.com --timeout=0s")
    wears.patch("small", masthead.Patch.merge({"metadata": {"finalizers": None}}))

    assert "it still exists: being deleted, finalizer customresourcecleanup.apiextensions.k8s.io" in ran.err
    assert cli("wait crd/wears.example.com --for=delete").code == 0


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


UNKNOWN_FIELD = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: shop}
datum: {color: red}
"""


def test_warnings_of_the_server_are_told_once_on_the_error_output(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = f"{UNKNOWN_FIELD.replace('NAME', 'unknown-1')}---\n{UNKNOWN_FIELD.replace('NAME', 'unknown-2')}"
    monkeypatch.setattr("sys.stdin", io.StringIO(twice))
    ran = cli("apply --client-side --validate warn -f -")

    assert ran.code == 0
    assert ran.out == "configmap/unknown-1 created\nconfigmap/unknown-2 created\n"
    assert ran.err == 'Warning: unknown field "datum"\n'


@pytest.mark.parametrize(
    ("conditions", "code", "out"),
    [
        ("--for=jsonpath=.data.color=red", 0, "configmap/settings condition met\n"),
        ("--for=jsonpath=data.color='red'", 0, "configmap/settings condition met\n"),
        ("--for=jsonpath=.data.color", 0, "configmap/settings condition met\n"),
        ("--for=jsonpath=.data.color=blue", 124, ""),
        ("--for=jsonpath=.data.color=", 2, ""),
        ("--for=Create", 0, "configmap/settings condition met\n"),
        (
            "--for=jsonpath=.data.color=red --for=jsonpath=.data.size",
            124,
            "configmap/settings condition met\n",
        ),
        ("--for=jsonpath=.data.size --for=jsonpath=.data.color=red", 124, ""),
        ("--for=ready --for=create", 0, "configmap/settings condition met\n" * 2),
    ],
)
def test_all_conditions_have_to_hold_in_the_forms_of_kubectl(conditions: str, code: int, out: str, cli: Cli) -> None:
    ran = cli(f"wait cm/settings -n shop --timeout=0 {conditions}")

    assert (ran.code, ran.out) == (code, out)


def test_what_was_never_there_is_gone_in_silence(cli: Cli) -> None:
    ran = cli("wait cm/never-there -n shop --for=condition=Ready --for=Delete --timeout=60s")

    assert (ran.code, ran.out) == (0, "")


def test_what_is_gone_now_is_told(client: masthead.Client, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    client.core_v1.config_maps("shop").create(ConfigMap.new("late"))
    with masthead.Client(kubeconfig=server.kubeconfig()) as other:

        def is_gone(obj: masthead.Object | None) -> bool:
            if obj is not None:
                other.core_v1.config_maps("shop").delete("late")
            return obj is None

        gone: masthead.conditions.WaitCondition[masthead.Object] = masthead.conditions.WaitCondition(
            is_gone, "it is gone"
        )
        late = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": "shop"}}
        wait_for_each(client, late, [gone], total=1, timeout=60, no_color=True)

    assert capsys.readouterr().out == "configmap/late condition met\n"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("get pods -n Bad_Name", 2, "masthead get: -n: 'Bad_Name' may hold only a-z"),
        ("--server ftp://x get pods", 2, "--server: the scheme must be https or http, not 'ftp'"),
        ("--server ftp://x --kubeconfig /no/such/file get pods", 2, "--server: the scheme"),
        (
            "--server http://10.0.0.1 --token secret get pods",
            2,
            "the command line is invalid: server: uses plain",
        ),
    ],
)
def test_a_wrong_option_is_not_blamed_on_the_kubeconfig(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err
    assert "allow_plain_http" not in ran.err


@pytest.mark.parametrize("command", ["apply", "diff"])
def test_an_unknown_kind_in_a_manifest_does_not_exist(command: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("{apiVersion: v1, kind: Nix, metadata: {name: x}}"))
    ran = cli(f"{command} -f -")

    assert ran.code == 4
    said, hint = ran.err.splitlines()
    assert said.endswith(": the server has no kind Nix in v1")
    assert hint.startswith("hint: if it is custom, ")


def test_a_diff_that_the_server_refuses_says_so(cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.faults.fail(403, resource="configmaps", verb="get", times=None)
    monkeypatch.setattr("sys.stdin", io.StringIO(UNKNOWN_FIELD.replace("NAME", "x")))
    ran = cli("diff -f -")

    assert ran.code == 5
    assert "nothing was sent" not in ran.err
    assert ran.err.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize("command", ["apply", "diff", "delete", "wait"])
def test_a_folder_without_manifests_is_a_wrong_argument(command: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    ran = cli(f"{command} -f {tmp_path}")

    assert ran.code == 2
    assert "holds no manifests: no file ends in .json, .yaml, .yml" in ran.err


def test_a_selector_that_selects_nothing_is_said(cli: Cli) -> None:
    ran = cli("delete pods -n shop -l app=nothing-of-it")

    assert (ran.code, ran.out) == (0, "No resources found\n")

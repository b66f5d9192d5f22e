"""``masthead edit``, with programs as editors that nobody looks at."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import running_shop

from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran
    from tests.server.kubectl import Kubectl

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]
    Edits = Callable[..., None]

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: edits}}
  template:
    metadata: {labels: {app: edits}}
    spec: {containers: [{name: main, image: nginx}, {name: side, image: busybox}]}
"""
EDITOR = """
import json, pathlib, sys
folder, path = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1])
text = path.read_text("utf-8")
number = len(list(folder.glob("seen-*")))
(folder / f"seen-{number}").write_text(text, "utf-8")
(folder / f"path-{number}").write_text(str(path), "utf-8")
steps = json.loads((folder / "steps.json").read_text("utf-8"))
step = steps[min(number, len(steps) - 1)]
if isinstance(step, int):
    sys.exit(step)
for old, new in step:
    assert old in text, (old, text)
    text = text.replace(old, new)
path.write_text(text, "utf-8")
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_shop() as running:
        yield running


@pytest.fixture(autouse=True)
def _web(client: masthead.Client) -> Iterator[None]:
    client.apply_manifests(WEB, field_manager="test")
    yield
    client.apps_v1.deployments("shop").delete("web")


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the editor, with the texts that it has seen; its files are in ``tmp``."""
    folder = tmp_path / "editor"
    folder.mkdir()
    (folder / "editor.py").write_text(EDITOR, "utf-8")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("KUBE_EDITOR", f"{sys.executable} {folder / 'editor.py'}")
    return folder


@pytest.fixture
def edits(editor: Path) -> Edits:
    """Says what the editor does: each time a list of replacements, or an exit code."""

    def plan(*steps: list[tuple[str, str]] | int) -> None:
        (editor / "steps.json").write_text(json.dumps(steps), "utf-8")

    return plan


def left(editor: Path) -> list[Path]:
    return list((editor.parent / "tmp").iterdir())


def seen(editor: Path, number: int) -> str:
    return (editor / f"seen-{number}").read_text("utf-8")


def color(client: masthead.Client) -> str:
    return client.core_v1.config_maps("shop").get("settings").data["color"]


def test_what_is_changed_in_the_file_is_sent(cli: Cli, client: masthead.Client, edits: Edits, editor: Path) -> None:
    edits([("image: nginx", "image: nginx:2"), ("replicas: 1", "replicas: 4")])

    ran = cli("edit deploy/web -n shop --output-patch")

    patch, line = ran.out.splitlines()
    assert (ran.code, line, ran.err) == (0, "deployment.apps/web edited", "")
    assert json.loads(patch.removeprefix("Patch: ")) == {
        "spec": {
            "replicas": 4,
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "main"}, {"name": "side"}],
                    "containers": [{"image": "nginx:2", "name": "main"}],
                }
            },
        }
    }
    spec = client.apps_v1.deployments("shop").get("web").spec
    assert spec.replicas == 4
    assert [container.image for container in spec.template.spec.containers] == ["nginx:2", "busybox"]
    assert "managedFields" not in seen(editor, 0)
    assert left(editor) == []


def test_custom_resources_are_edited(cli: Cli, edits: Edits) -> None:
    edits([("size: 3", "size: 5")])

    ran = cli("edit widget small -n shop --output-patch")

    assert ran.out == 'Patch: {"spec":{"size":5}}\nwidget.example.com/small edited\n'
    edits([("size: 5", "size: 3")])
    assert cli("edit wd/small -n shop").code == 0


def test_without_a_change_nothing_is_sent(cli: Cli, edits: Edits, editor: Path) -> None:
    edits([("# Please", "# Don't")])

    ran = cli("edit cm/settings -n shop")

    assert (ran.code, ran.out, ran.err) == (0, "", "Edit cancelled, no changes made.\n")
    assert seen(editor, 0).startswith("# Please edit the object below. Lines beginning with a '#' will be ignored,\n")
    assert left(editor) == []


def test_an_empty_file_cancels(cli: Cli, editor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "truncate -s 0")

    ran = cli("edit cm/settings -n shop")

    assert (ran.code, ran.out, ran.err) == (0, "", "Edit cancelled, saved file was empty.\n")
    assert left(editor) == []


def test_an_invalid_edit_opens_again_with_the_reasons(
    cli: Cli, client: masthead.Client, edits: Edits, editor: Path
) -> None:
    edits([("replicas: 1", "replicas: -1")], [("replicas: -1", "replicas: 2")])

    ran = cli("edit deploy/web -n shop")

    assert (ran.code, ran.out) == (0, "deployment.apps/web edited\n")
    assert ran.err == 'error: deployments.apps "web" is invalid\n'
    header = [line for line in seen(editor, 1).splitlines() if line.startswith("#")]
    assert header[4] == '# deployments.apps "web" was not valid:'
    assert header[5].startswith("# * spec.replicas: Invalid value: ")
    assert header[6:] == ["#"]
    assert "replicas: -1" in seen(editor, 1)
    assert client.apps_v1.deployments("shop").get("web").spec.replicas == 2
    assert left(editor) == []


def test_a_syntax_error_opens_the_file_again(cli: Cli, client: masthead.Client, edits: Edits, editor: Path) -> None:
    edits([("data:", "data: [")], [("data: [", "data:"), ("color: red", "color: blue")])

    ran = cli("edit cm/settings -n shop")

    assert (ran.code, ran.out, ran.err) == (0, "configmap/settings edited\n", "")
    assert "\n# The edited file had a syntax error: " in seen(editor, 1)
    assert color(client) == "blue"
    edits([("color: blue", "color: red")])
    assert cli("edit cm/settings -n shop").code == 0


@pytest.mark.parametrize(
    "change", [("replicas: 1", "replicas: -1"), ("replicas: 1", "replicaz: 1"), ("spec:", "spec: [")]
)
def test_who_gives_up_keeps_the_file(change: tuple[str, str], cli: Cli, edits: Edits, editor: Path) -> None:
    edits([change], [])

    ran = cli("edit deploy/web -n shop")

    (file,) = left(editor)
    assert ran.code == 1
    assert ran.err.splitlines()[-2:] == [
        f'A copy of your changes has been stored to "{file}"',
        "masthead edit: Edit cancelled, no valid changes were saved.",
    ]
    assert change[1] in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: settings", "name: other", "at least one of apiVersion, kind, name and namespace was changed"),
        ("namespace: shop", "namespace: other", "at least one of"),
        ("kind: ConfigMap", "kind: Secret", "at least one of"),
        ("  uid: ", "  uid: x", "its uid was changed"),
    ],
)
def test_an_edit_cannot_make_another_object(
    old: str, new: str, said: str, cli: Cli, edits: Edits, editor: Path
) -> None:
    edits([(old, new)])

    ran = cli("edit cm/settings -n shop")

    assert ran.code == 1
    assert said in ran.err
    assert f'A copy of your changes has been stored to "{left(editor)[0]}"\n' in ran.err


def test_several_objects_are_a_list(cli: Cli, client: masthead.Client, edits: Edits, editor: Path) -> None:
    edits([("replicas: 1", "replicas: 3"), ("color: red", "color: green")])

    ran = cli("edit deploy/web cm/settings pod/web-1 -n shop")

    assert ran.out == "deployment.apps/web edited\nconfigmap/settings edited\npod/web-1 skipped\n"
    assert "kind: List\nmetadata: {}\n" in seen(editor, 0)
    assert color(client) == "green"
    edits([("color: green", "color: red")])
    assert cli("edit cm -n shop").out.endswith("configmap/settings edited\n")


def test_after_an_error_only_what_was_refused_is_sent_again(cli: Cli, client: masthead.Client, edits: Edits) -> None:
    edits([("replicas: 1", "replicas: -1"), ("app: web", "app: other")], [("replicas: -1", "replicas: 2")])
    client.core_v1.config_maps("shop").create(ConfigMap.new("labeled", labels={"app": "web"}))

    ran = cli("edit cm/labeled deploy/web -n shop")

    assert ran.out == "configmap/labeled edited\nconfigmap/labeled skipped\ndeployment.apps/web edited\n"
    client.core_v1.config_maps("shop").delete("labeled")


def test_json_is_edited_and_printed(cli: Cli, edits: Edits, editor: Path) -> None:
    edits([('"color": "red"', '"color": "blue"')])

    ran = cli("edit cm/settings -n shop -o json")

    assert json.loads(ran.out)["data"] == {"color": "blue"}
    assert json.loads(seen(editor, 0))["kind"] == "ConfigMap"
    assert (editor / "path-0").read_text("utf-8").endswith(".json")
    edits([('"color": "blue"', '"color": "red"')])
    assert cli("edit cm/settings -n shop -o json").code == 0


def test_a_subresource_is_edited(cli: Cli, client: masthead.Client, edits: Edits) -> None:
    edits([("status: {}", "status: {observedGeneration: 7}")])

    assert cli("edit deploy/web -n shop --subresource=status").code == 0
    assert client.apps_v1.deployments("shop").get("web").status.observed_generation == 7


def test_a_lost_object_keeps_the_file(
    cli: Cli, client: masthead.Client, editor: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    client.core_v1.config_maps("shop").create(ConfigMap.new("lost", data={"color": "red"}))
    script = editor / "lose.py"
    script.write_text(
        "import pathlib, sys, masthead\n"
        f"with masthead.Client(kubeconfig={environ['KUBECONFIG']!r}) as client:\n"
        "    client.core_v1.config_maps('shop').delete('lost')\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('red', 'blue'))\n",
        "utf-8",
    )
    monkeypatch.setenv("KUBE_EDITOR", f"{sys.executable} {script}")

    ran = cli("edit cm/lost -n shop")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[0] == 'error: configmaps "lost" could not be found on the server'
    assert str(left(editor)[0]) in ran.err


def test_an_editor_that_fails_changes_nothing(cli: Cli, edits: Edits, editor: Path) -> None:
    edits(3)

    ran = cli("edit cm/settings -n shop")

    assert ran.code == 1
    assert "has failed with exit code 3" in ran.err
    assert left(editor) == []


def test_an_editor_that_does_not_exist_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch, editor: Path) -> None:
    monkeypatch.delenv("KUBE_EDITOR")
    monkeypatch.setenv("EDITOR", "no-such-editor --wait")

    ran = cli("edit cm/settings -n shop")

    assert ran.code == 1
    assert ran.err.splitlines() == [
        "masthead edit: the editor 'no-such-editor --wait' cannot be started: No such file or directory",
        "hint: name one with KUBE_EDITOR or EDITOR",
    ]
    assert left(editor) == []


def test_quotes_in_the_editor_are_for_a_shell(
    cli: Cli, client: masthead.Client, monkeypatch: pytest.MonkeyPatch, editor: Path
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "sed -i 's/color: red/color: \"a b\"/'")

    assert cli("edit cm/settings -n shop").out == "configmap/settings edited\n"
    assert color(client) == "a b"
    monkeypatch.setenv("KUBE_EDITOR", "sed -i 's/color: a b/color: red/'")
    assert cli("edit cm/settings -n shop").code == 0
    assert left(editor) == []


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("edit", 2, "name objects, or manifests with -f"),
        ("edit deploy/nope -n shop", 4, "nope"),
        ("edit secrets -n shop", 4, "there is nothing to edit"),
        ("edit cm/settings -o name", 2, "Invalid value for '-o'"),
        ("edit cm settings -f x.yaml", 2, "x.yaml does not exist"),
    ],
)
def test_wrong_arguments_open_no_editor(line: str, code: int, said: str, cli: Cli, editor: Path) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err
    assert list(editor.glob("seen-*")) == []


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ([[("replicas: 1", "replicas: 3")]], "deploy/web"),
        ([[]], "deploy/web"),
        ([[("replicas: 1", "replicas: -1")], [("replicas: -1", "replicas: 2")]], "deploy/web"),
        ([[("color: red", "color: blue")]], "deploy/web cm/settings"),
    ],
)
def test_it_prints_what_kubectl_prints(
    steps: list[list[tuple[str, str]]],
    names: str,
    cli: Cli,
    client: masthead.Client,
    kubectl: Kubectl,
    edits: Edits,
    editor: Path,
) -> None:
    edits(*steps)
    theirs = kubectl.run(f"edit {names} -n shop --output-patch")
    texts = [seen(editor, number) for number in range(len(steps))]
    client.apps_v1.deployments("shop").delete("web")
    client.core_v1.config_maps("shop").update(ConfigMap.new("settings", namespace="shop", data={"color": "red"}))
    client.apply_manifests(WEB, field_manager="test")
    for path in editor.glob("seen-*"):
        path.unlink()

    ours = cli(f"edit {names} -n shop --output-patch")

    assert (ours.code, ours.out, ours.err) == (theirs.returncode, theirs.stdout, theirs.stderr)
    for number, text in enumerate(texts):
        assert _steady(seen(editor, number)) == _steady(text)
    client.core_v1.config_maps("shop").update(ConfigMap.new("settings", namespace="shop", data={"color": "red"}))


def _steady(text: str) -> list[str]:
    moving = ("uid:", "resourceVersion:", "creationTimestamp:", "generation:")
    return [line for line in text.splitlines() if not line.strip().startswith(moving)]


def test_shells_are_left_out_where_they_are_not_needed() -> None:
    from masthead._cli.editor import editor_command

    path = Path("a b")
    assert editor_command(path, {"EDITOR": "nano -w"}) == ["nano", "-w", "a b"]
    assert editor_command(path, {"EDITOR": "nano", "KUBE_EDITOR": "code --wait"}) == ["code", "--wait", "a b"]
    assert editor_command(path, {"KUBE_EDITOR": "'my editor' -w", "SHELL": "/bin/zsh"}) == [
        "/bin/zsh",
        "-c",
        f"'my editor' -w {shlex.quote('a b')}",
    ]
    assert subprocess.list2cmdline(editor_command(path, {})) in {'vi "a b"', 'notepad "a b"'}

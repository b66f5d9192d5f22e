"""``masthead config``: the lines and the files of kubectl."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.shell_completion import ShellComplete
from tests.cli.conftest import Ran
from tests.server.kubectl import KUBECTL, PATIENCE, needs_current_kubectl

from masthead._cli.app import app
from masthead._cli.main import main
from masthead._meta.yaml import load_one
from masthead.config import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Ran]

FIRST = """
apiVersion: v1
kind: Config
clusters:
- name: b
  cluster: {server: "https://b:6443", certificate-authority-data: Zm9v}
- name: a
  cluster: {server: "https://a:6443", tls-server-name: other}
users:
- name: admin
  user: {token: secret, client-key-data: Zm9v, client-certificate-data: Zm9v}
- name: basic
  user: {username: me, password: secret}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: aws
      args: [eks, get-token]
      env: [{name: PROFILE, value: dev}]
      provideClusterInfo: false
      interactiveMode: IfAvailable
- name: oidc
  user: {auth-provider: {name: oidc, config: {client-id: shop}}}
contexts:
- name: dev
  context: {cluster: a, user: admin, namespace: shop}
- name: prod.eu.example.com
  context: {cluster: b, user: basic}
current-context: dev
"""
SECOND = """
apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {server: "https://c"}
users: []
contexts:
- name: other
  context: {cluster: c, user: admin}
- name: dev
  context: {cluster: c, user: admin}
current-context: other
"""
READING = [
    "view",
    "view --raw",
    "view --minify",
    "view --minify --context=other",
    "view --minify --context=missing",
    "view --minify --raw -o json",
    "view --flatten",
    "view -o jsonpath={.clusters[*].name}",
    "view --merge=false",
    "get-contexts",
    "get-contexts --no-headers",
    "get-contexts -o name",
    "get-contexts other missing dev",
    "get-users",
    "current-context",
]
CHANGING = [
    "use-context other",
    "use-context missing",
    "use-context dev",
    "set-context --current --namespace=front",
    "set-context --current --namespace=",
    "set-context new",
    "set-context --current -n=front",
    "set-context new --cluster=a --user=admin -n front",
    "set-context other --user=basic",
    "rename-context dev DEV",
    "rename-context other OTHER",
    "rename-context dev other",
    "rename-context missing new",
    "delete-context dev",
    "delete-context missing",
    "delete-cluster a",
    "delete-user admin",
    "delete-user missing",
    "set-cluster a --server=https://new",
    "set-cluster a --server=https://new --tls-server-name=name",
    "set-cluster c --tls-server-name=name --proxy-url=http://proxy",
    "set-cluster new",
    "set-cluster a --certificate-authority=ca.crt",
    "set-cluster a --certificate-authority=../ca.crt",
    "set-cluster a --certificate-authority=ca.crt --embed-certs",
    "set-cluster b --insecure-skip-tls-verify",
    "set-cluster --insecure-skip-tls-verify b",
    "set-cluster a --insecure-skip-tls-verify --certificate-authority=ca.crt",
    "set-cluster a --certificate-authority=missing.crt --embed-certs=true",
    "set-cluster a --embed-certs",
    "set-credentials new",
    "set-credentials admin --token=new",
    "set-credentials admin --username=a --password=b",
    "set-credentials basic --token=new",
    "set-credentials basic --password=",
    "set-credentials admin --client-certificate=ca.crt --client-key=ca.crt",
    "set-credentials admin --client-certificate=ca.crt --client-key=ca.crt --embed-certs",
    "set-credentials plugin --exec-command=gcloud",
    "set-credentials plugin --exec-arg=one,two --exec-arg=three --exec-env=A=b --exec-env=PROFILE=prod",
    "set-credentials plugin --exec-env=PROFILE- --exec-provide-cluster-info --exec-interactive-mode=Never",
    "set-credentials new --exec-command=gcloud --exec-api-version=client.authentication.k8s.io/v1",
    "set-credentials new --exec-arg=ignored",
    "set-credentials oidc --auth-provider-arg=client-id=new --auth-provider-arg=client-secret=secret",
    "set-credentials oidc --auth-provider-arg=client-id-",
    "set-credentials oidc --auth-provider=gcp",
    "set-credentials new --token=a --username=b",
    "set current-context prod.eu.example.com",
    "set contexts.dev.namespace front",
    "set contexts.prod.eu.example.com.namespace front",
    "set clusters.a.insecure-skip-tls-verify true",
    "set clusters.a.insecure-skip-tls-verify false",
    "set clusters.a.insecure-skip-tls-verify maybe",
    "set clusters.new.server https://new",
    "set clusters.a.certificate-authority-data Zm9v",
    "set clusters.a.certificate-authority-data foo --set-raw-bytes",
    "set clusters.a.certificate-authority-data %%",
    "set clusters.a.colour red",
    "set users.admin.as-groups x",
    "set nothing x",
    "unset current-context",
    "unset contexts.dev.namespace",
    "unset contexts.prod.eu.example.com.namespace",
    "unset contexts.dev",
    "unset contexts.dev.cluster",
    "unset users.plugin.exec",
    "unset users.oidc.auth-provider",
    "unset users.missing",
    "unset users.missing.token",
    "unset clusters.c.server",
    "unset nothing",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two kubeconfigs and a certificate."""
    made = tmp_path / "here"
    made.mkdir()
    restore(made)
    monkeypatch.chdir(made)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(made / name) for name in ("first", "missing", "second")))
    return made


def restore(folder: Path) -> None:
    for name, content in (("first", FIRST), ("second", SECOND), ("ca.crt", "CA\n")):
        (folder / name).write_text(content, "utf-8")


@pytest.fixture
def config(folder: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command: ``config("use-context dev")``."""
    assert folder.is_dir()

    def call(line: str) -> Ran:
        capsys.readouterr()
        code = main(["config", *line.split()])
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call


def read(path: Path) -> Any:
    return load_one(path.read_text("utf-8"))


def run_kubectl(line: str, folder: Path) -> tuple[bool, str, list[Any]]:
    done = subprocess.run(
        [str(KUBECTL), "config", *line.split()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=folder,
    )
    return done.returncode == 0, done.stdout, [read(folder / "first"), read(folder / "second")]


@needs_current_kubectl
@pytest.mark.parametrize("line", [*READING, *CHANGING])
def test_it_prints_and_writes_what_kubectl_does(line: str, config: Cli, folder: Path) -> None:
    is_good, printed, files = run_kubectl(line, folder)
    restore(folder)

    ran = config(line)

    # The order of keys in JSON is another one.
    out, expected = (load_one(ran.out), load_one(printed)) if "json" in line else (ran.out, printed)
    assert (ran.code == 0, out) == (is_good, expected), ran.err
    assert [read(folder / "first"), read(folder / "second")] == files


def test_secrets_are_not_shown(config: Cli, folder: Path) -> None:
    config("set-credentials oidc --auth-provider-arg=refresh-token=secret --auth-provider-arg=id-token=secret")
    (folder / "first").write_text(
        (folder / "first").read_text("utf-8").replace("token: secret", "token: secret\n    pasword: secret", 1)
    )

    printed = config("view").out

    assert "secret" not in printed
    assert printed.count("REDACTED") == 4
    assert printed.count("DATA+OMITTED") == 3
    assert config("view --raw").out.count("secret") == 4  # the misspelt field has no meaning


def test_secrets_in_addresses_are_not_shown(config: Cli) -> None:
    config("set-cluster embedded --server=http://127.0.0.1:1/~secret")
    config("set-cluster proxied --server=https://10.0.0.1 --proxy-url=http://me:secret@proxy:3128")

    printed = config("view").out

    assert "server: http://127.0.0.1:1/~***\n" in printed
    assert "proxy-url: http://me:***@proxy:3128\n" in printed
    assert config("view -o jsonpath={.clusters[?(@.name=='embedded')].cluster.server}").out == "http://127.0.0.1:1/~***"
    assert "http://127.0.0.1:1/~secret" in config("view --raw").out


def test_a_view_can_be_used_elsewhere(config: Cli, folder: Path) -> None:
    config("set-cluster a --certificate-authority=ca.crt")

    (folder / "flat").write_text(config("view --context=dev --minify --flatten").out, "utf-8")

    assert read(folder / "flat")["clusters"][0]["cluster"]["certificate-authority-data"] == "Q0EK"
    assert load(folder / "first").ca_file == folder / "ca.crt"


def test_unknown_fields_are_kept(config: Cli, folder: Path) -> None:
    content = FIRST.replace("namespace: shop", "namespace: shop, colour: red").replace(
        "kind: Config", "kind: Config\nextra: 1"
    )
    (folder / "first").write_text(content, "utf-8")

    assert config("set-context dev --namespace=front").code == 0

    changed = read(folder / "first")
    assert changed["extra"] == 1
    assert changed["contexts"][0]["context"] == {"cluster": "a", "user": "admin", "namespace": "front", "colour": "red"}


def test_a_new_file_is_for_its_owner_only(config: Cli, folder: Path) -> None:
    path = folder / "deep" / "new"

    assert config(f"set-cluster new --server=https://new --kubeconfig={path}").out == 'Cluster "new" set.\n'

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["new"]
    assert read(path)["clusters"] == [{"name": "new", "cluster": {"server": "https://new"}}]


def test_mode_and_link_of_a_file_stay(config: Cli, folder: Path) -> None:
    (folder / "first").chmod(0o640)
    (folder / "link").symlink_to(folder / "first")

    assert config("use-context prod.eu.example.com --kubeconfig=link").code == 0

    assert (folder / "link").is_symlink()
    assert stat.S_IMODE((folder / "first").stat().st_mode) == 0o640
    assert read(folder / "first")["current-context"] == "prod.eu.example.com"


def test_a_file_that_does_not_change_is_not_written(config: Cli, folder: Path) -> None:
    assert config("use-context dev").out == 'Switched to context "dev".\n'
    assert (folder / "first").read_text("utf-8") == FIRST


def test_a_locked_file_is_left_alone(config: Cli, folder: Path) -> None:
    (folder / "first.lock").touch()

    ran = config("use-context prod.eu.example.com")

    assert ran.code == 3
    assert "is locked, so that the change cannot be written" in ran.err
    assert (folder / "first").read_text("utf-8") == FIRST


def test_a_broken_file_is_left_alone(config: Cli, folder: Path) -> None:
    (folder / "first").write_text("users: [{name: x, user: {token: [secret]}}]", "utf-8")

    ran = config("set-context new")

    assert ran.code == 3
    assert ran.err.startswith(f"masthead config set-context: {folder / 'first'}: users[0].user.token: must be text")
    assert "secret" not in ran.err.replace("secret]", "")


def test_each_entry_is_changed_in_its_file(config: Cli, folder: Path) -> None:
    assert config("delete-context other").out == f"deleted context other from {folder / 'second'}\n"
    assert (folder / "first").read_text("utf-8") == FIRST


def test_without_a_file_there_are_no_entries(config: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG")

    assert config("get-contexts").out.split() == ["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"]
    assert "\ncontexts: null\n" in config("view").out
    assert config("current-context").code == 1
    assert config("set-context new").code == 0
    assert (folder / ".kube" / "config").exists()


def test_kubeconfig_is_the_only_file(config: Cli, folder: Path) -> None:
    assert config(f"current-context --kubeconfig={folder / 'second'}").out == "other\n"
    assert config("get-clusters --kubeconfig=second").out == "NAME\nc\n"
    assert config("view --kubeconfig=missing").code == 4
    assert config("get-clusters --kubeconfig=missing").out == "NAME\n"


def test_the_nearest_name_is_shown(config: Cli) -> None:
    ran = config("use-context prod.eu.example.org")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.splitlines() == [
        'masthead config use-context: no context exists with the name: "prod.eu.example.org"',
        "hint: did you mean prod.eu.example.com?",
    ]
    assert "did you mean contexts" in config("unset context.dev").err
    assert "did you mean admin?" in config("delete-user admn").err


def test_fields_of_plugins_are_properties_too(config: Cli, folder: Path) -> None:
    assert config("set users.plugin.exec.command gcloud").code == 0
    assert config("unset users.plugin.exec.args").code == 0
    assert config("set users.oidc.auth-provider.config.client-id front").code == 0
    assert config("set users.plugin.exec.colour red").code == 2

    users = {named["name"]: named["user"] for named in read(folder / "first")["users"]}
    assert users["plugin"]["exec"]["command"] == "gcloud"
    assert "args" not in users["plugin"]["exec"]
    assert users["oidc"]["auth-provider"]["config"] == {"client-id": "front"}


@pytest.mark.parametrize("line", ["view", "get-contexts", "get-contexts -o name", "current-context", "view -o json"])
def test_no_name_controls_the_terminal(line: str, config: Cli, folder: Path) -> None:
    name = '"\\e]0;owned\\a\\u202Eevil"'
    (folder / "first").write_text(
        FIRST.replace("name: dev", f"name: {name}").replace(": dev\n", f": {name}\n"), "utf-8"
    )

    ran = config(line)

    assert ran.code == 0
    assert "evil" in ran.out
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)


def test_all_entries_of_a_kind_are_removed_from_all_files(config: Cli, folder: Path) -> None:
    assert config("unset contexts").code == 0

    assert read(folder / "first")["contexts"] is None
    assert read(folder / "second")["contexts"] is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("view x", "unexpected extra argument"),
        ("view -o wide", "-o wide is not for kubeconfigs"),
        ("view --merge=false", "a precise file must be specified"),
        ("get-contexts -o yaml", "Invalid value for '-o'"),
        ("use-context", "Missing argument 'NAME'"),
        ("rename-context dev", "Missing argument 'NEW_NAME'"),
        ("set-context", "you must specify a non-empty context name or --current"),
        ("set-context dev --current", "both a context name and --current"),
        ("set-context dev --namespace=Front", "-n: 'Front'"),
        ("set-credentials x --exec-interactive-mode=Sometimes", "Invalid value for '--exec-interactive-mode'"),
        ("set-credentials x --exec-env=A", "'A' is neither KEY=VALUE nor KEY-"),
        ("set-credentials x --exec-env=A=1 --exec-env=A-", "A is both set and removed"),
        ("set-credentials x --client-key=missing --embed-certs", "--client-key: missing does not exist"),
        ("set contexts.dev front", "dev is no single value"),
        ("set contexts front", "contexts is no single value"),
        ("delete-everything", "there is no command 'delete-everything'"),
    ],
)
def test_wrong_arguments_are_refused(line: str, said: str, config: Cli, folder: Path) -> None:
    ran = config(line)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert (folder / "first").read_text("utf-8") == FIRST


def test_names_are_completed(folder: Path) -> None:
    def complete(*words: str) -> list[str]:
        made = ShellComplete(app, {}, "masthead", "_MASTHEAD_COMPLETE")
        return [item.value for item in made.get_completions(list(words), "")]

    assert folder.is_dir()
    assert complete("config", "use-context") == ["dev", "other", "prod.eu.example.com"]
    assert complete("config", "delete-cluster") == ["a", "b", "c"]
    assert complete("config", "set-context", "dev", "--user") == ["admin", "basic", "oidc", "plugin"]
    assert "use-context" in complete("config")


def test_changes_of_two_processes_are_not_lost(folder: Path) -> None:
    lines = [["set-cluster", f"c{number}", "--server=https://new"] for number in range(2)]

    started = [
        subprocess.Popen([sys.executable, "-m", "masthead", "config", *line], stdout=subprocess.DEVNULL)
        for line in lines
    ]

    assert [process.wait(PATIENCE) for process in started] == [0, 0]
    names = {named["name"] for named in read(folder / "first")["clusters"]}
    assert names == {"a", "b", "c0", "c1"}

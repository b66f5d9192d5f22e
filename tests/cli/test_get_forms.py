"""``masthead get``: files, paths, templates, and changes in other forms than a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_processes import following

import masthead
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "web.yaml"
    path.write_text("{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}}", "utf-8")
    return path


def test_one_manifest_is_one_object_and_several_are_a_list(cli: Cli, manifest: Path) -> None:
    assert json.loads(cli(f"get -f {manifest} -o json").out)["kind"] == "Pod"
    assert json.loads(cli(f"get -f {manifest} -f {manifest} -o json").out)["kind"] == "List"
    assert cli(f"get -f {manifest} -o name").out == "pod/web-1\n"


def test_a_manifest_of_another_namespace_is_refused(cli: Cli, manifest: Path) -> None:
    ran = cli(f"get -f {manifest} -n default")

    assert ran.code == 2
    assert ran.err == (
        "masthead get: pods web-1 is in namespace shop, not in default\nhint: pass -n shop, or leave -n out\n"
    )


def test_folders_in_folders_are_read_only_when_asked(cli: Cli, manifest: Path) -> None:
    inner = manifest.parent / "a" / "b"
    inner.mkdir(parents=True)
    manifest.rename(inner / "web.yaml")

    assert cli(f"get -f {inner.parent}").code == 2
    assert cli(f"get -f {inner.parent} -R -o name").out == "pod/web-1\n"


def test_what_does_not_exist_may_be_no_error(cli: Cli) -> None:
    assert (cli("get pods nope -n shop").code, cli("get pods nope -n shop --ignore-not-found").code) == (4, 0)
    ran = cli("get pods nope web-1 -n shop -o name --ignore-not-found")
    assert (ran.code, ran.out, ran.err) == (0, "pod/web-1\n", "")
    assert cli("get cm nope -n shop -w --ignore-not-found").code == 0


def test_any_path_of_the_server_is_printed_as_it_is(cli: Cli) -> None:
    assert json.loads(cli("get --raw /api/v1/namespaces/shop/pods/web-1").out)["metadata"]["name"] == "web-1"
    assert cli("get --raw /readyz").out == "ok"
    ran = cli("get --raw /nope")
    assert (ran.code, ran.out) == (4, "")


def test_templates_come_from_files(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("{{len .items}}", "utf-8")
    (tmp_path / "j").write_text("{.items[0].metadata.name}", "utf-8")
    (tmp_path / "c").write_text("NAME AGE\nmetadata.name .nope\n", "utf-8")

    assert cli(f"get pods -n shop -o go-template-file={tmp_path / 't'}").out == "2"
    assert cli(f"get pods -n shop -o jsonpath-file={tmp_path / 'j'}").out == "web-1"
    assert cli(f"get pods web-1 -n shop -o custom-columns-file={tmp_path / 'c'}").out == (
        "NAME    AGE\nweb-1   <none>\n"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("get pods -o go-template={{.x", "-o go-template: line 1, column 1: an action is not closed"),
        ("get pods -o go-template", "-o has no form 'go-template'"),
        ("get pods -o go-template-file=/no/such/file", "/no/such/file: No such file or directory"),
        ("get pods -o custom-columns-file=/dev/null", "a line of headings"),
        ("get pods -o jsonpath-as-json", "-o has no form"),
        ("get pods -o yaml --show-labels", "--show-labels is for tables"),
        ("get pods --output-watch-events", "--output-watch-events goes with -w"),
        ("get --raw /version pods", "--raw is alone"),
        ("get --raw /version -o json", "--raw is alone"),
        ("get --raw version", "a path begins with a slash"),
        ("get pods -f x", "x does not exist"),
        ("get -f /no/such/file -w", "/no/such/file does not exist"),
        ("get pods --subresource=status", "--subresource is for objects that are named"),
        ("get pods web-1 web-2 -w -n shop", "-w follows one kind"),
    ],
)
def test_wrong_arguments_are_said_in_a_line(line: str, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_template_that_does_not_fit_its_object_fails(cli: Cli) -> None:
    ran = cli("get pods -n shop -o go-template={{.items.x}}")
    assert (ran.code, ran.out) == (1, "")
    assert "line 1, column 3: can't evaluate field x" in ran.err
    ran = cli("get pods -n shop -o jsonpath={.items[9].x}")
    assert (ran.code, ran.err) == (
        1,
        "masthead get: -o jsonpath: array index out of bounds: index 9, length 2\n",
    )
    assert cli("get pods -n shop -o jsonpath={.nope} --allow-missing-template-keys=false").code == 1


def test_a_subresource_that_is_not_served_is_named(cli: Cli) -> None:
    for options in ("", "-o yaml"):
        ran = cli(f"get cm settings -n shop --subresource=nope {options}")
        assert (ran.code, ran.out) == (4, "")
        assert ran.err.startswith("masthead get: configmaps have no subresource nope\n")
    assert 'configmaps "nope" not found' in cli("get cm nope -n shop --subresource=status").err


def test_flags_may_have_values(cli: Cli) -> None:
    assert cli("get pods -n shop --no-headers=true").out.startswith("web-1 ")
    assert cli("get pods -n shop --no-headers=false").out.startswith("NAME ")


SETTINGS = ["get", "cm", "settings", "-n", "shop", "-w"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "first", "then"),
    [
        (["-o", "name"], "configmap/settings\n", "configmap/settings\n"),
        (["-o", "custom-columns=COLOR:.data.color", "--no-headers"], "red\n", "blue\n"),
        (["-o", 'go-template={{.data.color}}{{"\\n"}}'], "red\n", "blue\n"),
        (
            ["-o", 'jsonpath={.type} {.object.data.color}{"\\n"}', "--output-watch-events"],
            "ADDED red\n",
            "MODIFIED blue\n",
        ),
        (["-o", 'jsonpath={.data.color}{"\\n"}', "--watch-only"], "", "blue\n"),
        (["--no-headers", "-L", "color", "--output-watch-events"], "ADDED", "MODIFIED"),
        (["--no-headers", "--watch-only", "--show-kind"], "", "configmap/settings"),
    ],
)
def test_changes_are_printed_in_every_form(
    options: list[str], first: str, then: str, environ: dict[str, str], client: masthead.Client
) -> None:
    maps = client.core_v1.config_maps("shop")
    maps.apply(ConfigMap.new("settings", data={"color": "red"}), field_manager="watched", force=True)
    with following(environ, *SETTINGS, *options) as process:
        assert process.stdout is not None
        if first:
            assert process.stdout.readline().startswith(first)
            maps.apply(ConfigMap.new("settings", data={"color": "blue"}), field_manager="watched", force=True)
            assert process.stdout.readline().startswith(then)
        else:
            # Nothing says that it follows: changes are made until one of them is seen.
            _change_until_seen(client, process.stdout.readline, then)


def _change_until_seen(client: masthead.Client, read: Callable[[], str], then: str) -> None:
    import threading

    seen = threading.Event()

    def change() -> None:
        number = 0
        while not seen.wait(0.2):
            number += 1
            patch = masthead.meta.Patch.merge({"data": {"color": "blue", "number": str(number)}})
            client.core_v1.config_maps("shop").patch("settings", patch)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert read().startswith(then)
    finally:
        seen.set()
        thread.join()

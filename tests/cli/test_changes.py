"""``masthead label``, ``annotate``, ``scale`` and ``patch``: the lines of kubectl, and what they do to objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Ran, running_shop

from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  selector: {matchLabels: {app: changes}}
  template:
    metadata: {labels: {app: changes}}
    spec: {containers: [{name: main, image: nginx}]}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server whose Deployments get pods."""
    with running_shop(workloads=True) as running:
        yield running


@pytest.fixture(autouse=True)
def _web(client: masthead.Client) -> Iterator[None]:
    client.apply_manifests(WEB, field_manager="test")
    yield
    client.apps_v1.deployments("shop").delete("web")


def labels(client: masthead.Client) -> dict[str, str]:
    return client.apps_v1.deployments("shop").get("web").metadata.labels


def test_labels_are_set_and_removed(cli: Cli, client: masthead.Client) -> None:
    assert cli("label deploy web -n shop tier=front a=b").out == "deployment.apps/web labeled\n"
    assert labels(client) == {"app": "web", "tier": "front", "a": "b"}
    assert cli("label deploy/web -n shop tier=front").out == "deployment.apps/web not labeled\n"
    assert cli("label deploy/web -n shop tier- a-").out == "deployment.apps/web unlabeled\n"
    assert labels(client) == {"app": "web"}


def test_an_existing_value_is_replaced_only_when_asked(cli: Cli, client: masthead.Client) -> None:
    refused = cli("label deploy/web -n shop app=shop")

    assert refused.code == 1
    assert refused.err.splitlines() == [
        "masthead label: deployment.apps/web already has the label app=web",
        "hint: replace the value with --overwrite",
    ]
    assert labels(client) == {"app": "web"}
    assert cli("label deploy/web -n shop app=shop --overwrite").out == "deployment.apps/web labeled\n"
    assert labels(client) == {"app": "shop"}


def test_a_label_that_is_not_there_is_reported(cli: Cli) -> None:
    ran = cli("label deploy/web -n shop tier-")

    assert (ran.code, ran.out, ran.err) == (0, "deployment.apps/web not labeled\n", 'label "tier" not found.\n')


def test_labels_are_listed(cli: Cli) -> None:
    assert cli("label deploy/web -n shop --list").out == "app=web\n"
    assert cli("label deploy,cm -n shop --all --list").out.startswith(
        "Listing labels for deployment.apps/web:\napp=web\n"
    )


def test_annotations_take_any_text(cli: Cli, client: masthead.Client) -> None:
    ran = cli("annotate deploy/web -n shop", "note=two words = one", "example.com/owner=me")

    assert ran.out == "deployment.apps/web annotated\n"
    annotations = client.apps_v1.deployments("shop").get("web").metadata.annotations
    assert (annotations["note"], annotations["example.com/owner"]) == ("two words = one", "me")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("label deploy/web", "there is nothing to change"),
        ("label deploy/web a=b a-", "a is both set and removed"),
        ("label deploy a=b web", "'web' is neither KEY=VALUE nor KEY-"),
        ("label deploy/web a=b --list", "--list excludes changes of labels"),
        ("label deploy/web a/b/c=d", "'a/b/c' is not"),
        ("label deploy/web a=-", "'-' is not"),
        ("label deploy a=b", "which deployments?"),
        ("label a=b", "name objects, or manifests with -f"),
        ("label deploy,cm -n shop --all a=b --resource-version 1", "--resource-version is for one object"),
        ("scale deploy/web", "Missing option '--replicas'"),
        ("scale deploy/web --replicas=-1", "Invalid value for '--replicas'"),
        ("patch deploy/web", "name the patch with -p or --patch-file"),
        ("patch deploy/web -p [1]", "a patch of type strategic is an object with the fields to change"),
        ("patch deploy/web --type=json -p {}", "a patch of type json is a list of operations"),
        ("patch deploy/web -p {", "the patch is neither JSON nor YAML"),
        ("patch deploy/web -p {} -o wide", "-o wide is for tables"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(line: str, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == 2
    assert said in ran.err


def test_a_change_may_be_tried(cli: Cli, client: masthead.Client) -> None:
    assert cli("label deploy/web -n shop a=b --dry-run=server").out == "deployment.apps/web labeled (server dry run)\n"
    assert labels(client) == {"app": "web"}


def test_the_word_behind_a_dry_run_is_not_its_value(cli: Cli, client: masthead.Client) -> None:
    assert cli("label -n shop --dry-run deploy/web a=b").out == "deployment.apps/web labeled (server dry run)\n"
    assert labels(client) == {"app": "web"}


@pytest.mark.parametrize(
    "line", ["annotate deploy/web a=b", 'patch deploy/web -p {"spec":{"replicas":5}}', "rollout restart deploy/web"]
)
def test_the_manager_of_changed_fields_names_the_command(line: str, cli: Cli, client: masthead.Client) -> None:
    assert cli(f"{line} -n shop").code == 0

    managers = {each.manager for each in client.apps_v1.deployments("shop").get("web").metadata.managed_fields}
    assert f"masthead-{line.split(maxsplit=1)[0]}" in managers


def test_only_the_expected_version_is_changed(cli: Cli, client: masthead.Client) -> None:
    # No controller writes a ConfigMap, so that its version stays.
    version = client.core_v1.config_maps("shop").get("settings").metadata.resource_version

    assert cli("annotate cm/settings -n shop a=b --resource-version=1").code == 1
    assert cli(f"annotate cm/settings -n shop a=b --resource-version={version}").code == 0
    assert cli(f"annotate cm/settings -n shop a=c --overwrite --resource-version={version}").code == 1
    assert cli("annotate cm/settings -n shop a-").code == 0


def test_a_deployment_is_scaled(cli: Cli, client: masthead.Client) -> None:
    ran = cli("scale deploy/web -n shop --replicas=3 --timeout=30s")

    assert (ran.code, ran.out.splitlines()[0]) == (0, "deployment.apps/web scaled")
    assert client.apps_v1.deployments("shop").get("web").status.replicas == 3


def test_a_deployment_with_another_number_is_not_scaled(cli: Cli, client: masthead.Client) -> None:
    ran = cli("scale deploy/web -n shop --current-replicas=7 --replicas=3")

    assert (ran.code, ran.err.splitlines()[0]) == (1, "masthead scale: deployment.apps/web has 1 replicas, not 7")
    assert client.apps_v1.deployments("shop").get("web").spec.replicas == 1


def test_what_has_no_scale_is_not_scaled(cli: Cli) -> None:
    assert cli("scale cm/settings -n shop --replicas=3").code == 4


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"metadata": {"labels": {"tier": "front"}}}'),
        ("merge", "metadata: {labels: {tier: front}}"),
        ("json", '[{"op": "add", "path": "/metadata/labels/tier", "value": "front"}]'),
    ],
)
def test_each_type_of_patch_is_sent(kind: str, patch: str, cli: Cli, client: masthead.Client) -> None:
    assert cli(f"patch deploy/web -n shop --type={kind} -p", patch).out == "deployment.apps/web patched\n"
    assert labels(client) == {"app": "web", "tier": "front"}


def test_a_patch_that_changes_nothing_says_so(cli: Cli) -> None:
    ran = cli("patch cm/settings -n shop -p", '{"data": {"color": "red"}}')

    assert ran.out == "configmap/settings patched (no change)\n"


def test_a_patch_comes_from_a_file(cli: Cli, client: masthead.Client, tmp_path: Path) -> None:
    (tmp_path / "patch.yaml").write_text("metadata: {labels: {tier: file}}", "utf-8")

    assert cli("patch deploy/web -n shop --patch-file", str(tmp_path / "patch.yaml")).code == 0
    assert labels(client)["tier"] == "file"


def test_the_result_is_printed_as_asked(cli: Cli) -> None:
    assert cli("label cm/settings -n shop x=y -o name").out == "configmap/settings\n"
    printed = json.loads(cli("label cm/settings -n shop x- -o json").out)
    assert printed["data"] == {"color": "red"}
    assert "managedFields" not in printed["metadata"]
    assert cli("annotate cm/settings -n shop x=y -o jsonpath={.metadata.annotations.x}").out == "y"
    cli("annotate cm/settings -n shop x-")


def test_manifests_name_objects(cli: Cli, client: masthead.Client, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB, "utf-8")

    assert cli(f"label -f {tmp_path / 'web.yaml'} tier=file").out == "deployment.apps/web labeled\n"
    assert labels(client)["tier"] == "file"


def test_a_patch_that_lets_go_of_an_object_is_a_change(cli: Cli, client: masthead.Client) -> None:
    maps = client.core_v1.config_maps("shop")
    held = ConfigMap.new("held")
    held.metadata.finalizers = ["example.com/hold"]
    maps.create(held)
    maps.delete("held")

    assert (
        cli('patch cm/held -n shop --type=merge -p {"metadata":{"finalizers":null}}').out == "configmap/held patched\n"
    )
    assert not maps.exists("held")

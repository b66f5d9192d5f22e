"""``masthead manifests`` writes what an operator needs in a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import masthead
from masthead._cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATOR = """
import masthead
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Secret

app = masthead.Manager(leader_election="shop-operator")
options = masthead.controller.RunOptions(metrics_bind="0", probe_bind="0", graceful_timeout=60.5)
alone = masthead.Manager("alone", options=options)

@app.controller("example.com/v1/shops", owns=[Deployment], watches={Secret: lambda _: None})
@alone.controller("example.com/v1/shops")
async def reconcile(ctx): ...
"""


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "shops_for_tests.py").write_text(OPERATOR, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield "shops_for_tests"
    sys.modules.pop("shops_for_tests", None)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["manifests", *arguments]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def names(objects: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in objects]


def container(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = objects[-1]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_everything_is_printed_in_the_order_of_its_use(operator: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert names(printed(capsys, f"{operator}:app")) == [
        ("Namespace", "", "shop-operator"),
        ("ServiceAccount", "shop-operator", "shop-operator"),
        ("ClusterRole", "", "shop-operator"),
        ("ClusterRoleBinding", "", "shop-operator"),
        ("Role", "shop-operator", "shop-operator"),
        ("RoleBinding", "shop-operator", "shop-operator"),
        ("Deployment", "shop-operator", "shop-operator"),
    ]


def test_a_server_accepts_it(operator: str, capsys: pytest.CaptureFixture[str], kube_client: masthead.Client) -> None:
    main(["manifests", f"{operator}:app"])
    objects = masthead.load_manifests(capsys.readouterr().out, strict=True)

    for obj in objects:
        kube_client.resource(type(obj), obj.metadata.namespace or None).create(obj, field_validation="Strict")

    (subject,) = kube_client.rbac_v1.role_bindings("shop-operator").get("shop-operator").subjects
    deployment = kube_client.apps_v1.deployments("shop-operator").get("shop-operator")
    assert subject.name == deployment.spec.template.spec.service_account_name


def test_a_namespace_that_is_named_exists(operator: str, capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, f"{operator}:app", "--namespace", "operators")

    assert not [each for each in objects if each["kind"] == "Namespace"]
    assert {each["metadata"].get("namespace", "operators") for each in objects} == {"operators"}
    (subject,) = next(each for each in objects if each["kind"] == "ClusterRoleBinding")["subjects"]
    assert subject["namespace"] == "operators"


def test_who_watches_some_namespaces_needs_no_cluster_role(operator: str, capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, f"{operator}:app", "--watch", "blog,shop", "--watch", "news")

    roles = [where for kind, where, _ in names(objects) if kind in {"ClusterRole", "Role"}]
    assert roles == ["blog", "news", "shop", "shop-operator"]
    assert {"name": "MASTHEAD_NAMESPACE", "value": "blog,shop,news"} in container(objects)["env"]


def test_the_pod_is_restricted_and_probed(operator: str, capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, f"{operator}:app", "--image", "registry.example.com/shops:7")

    pod, found = objects[-1]["spec"]["template"]["spec"], container(objects)
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert found["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert found["image"] == "registry.example.com/shops:7"
    assert found["args"] == ["run", f"{operator}:app"]
    assert found["ports"] == [
        {"name": "metrics", "containerPort": 8080},
        {"name": "probes", "containerPort": 8081},
    ]
    assert found["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert found["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}


def test_what_the_code_turns_off_is_neither_exposed_nor_probed(
    operator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = printed(capsys, f"{operator}:alone")

    assert container(objects).keys().isdisjoint({"ports", "livenessProbe", "readinessProbe"})
    assert objects[-1]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 66


def test_an_operator_without_leader_election_never_runs_twice(
    operator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = printed(capsys, f"{operator}:alone")[-1]["spec"]

    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert printed(capsys, f"{operator}:app")[-1]["spec"]["replicas"] == 2
    assert main(["manifests", f"{operator}:alone", "--replicas", "2"]) == 2
    assert "elect a leader, Manager(leader_election='alone')" in capsys.readouterr().err


def test_files_are_written_once_and_checked(operator: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["manifests", f"{operator}:app", "--out", str(tmp_path / "deploy"), "--dockerfile"]

    assert main([*command, "--check"]) == 1
    assert not (tmp_path / "deploy").exists()
    assert main(command) == 0
    written = sorted(each.name for each in (tmp_path / "deploy").iterdir())
    assert written == ["Dockerfile", "operator.yaml"]
    assert capsys.readouterr().out.count("would write ") == 2
    assert main([*command, "--check"]) == 0
    assert main(command) == 0
    assert capsys.readouterr().out == ""

    (tmp_path / "deploy" / "operator.yaml").write_text("changed by hand", "utf-8")
    assert main([*command, "--check"]) == 1
    assert capsys.readouterr().out == f"would write {tmp_path / 'deploy' / 'operator.yaml'}\n"


def test_a_dockerfile_alone_is_printed_alone(operator: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", operator, "--dockerfile"]) == 0

    printed = capsys.readouterr().out
    assert printed.startswith("FROM python:")
    assert 'ENTRYPOINT ["masthead"]' in printed


@pytest.mark.slow
def test_the_text_is_the_same_in_every_process(operator: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "masthead", "manifests", f"{operator}:app"]
    texts = {
        subprocess.run([*command], capture_output=True, check=True, cwd=tmp_path, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }

    assert len(texts) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["missing_module"], 2, "there is no module 'missing_module'"),
        (["shops_for_tests:nothing"], 2, "no attribute 'nothing'"),
        (["shops_for_tests:app", "--namespace", "Shop"], 2, "namespace"),
        (["broken"], 1, "broken cannot be imported: ZeroDivisionError"),
    ],
)
@pytest.mark.usefixtures("operator")
def test_an_error_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    Path("broken.py").write_text("1 / 0", "utf-8")

    assert main(["manifests", *arguments]) == code
    assert said in capsys.readouterr().err


VERSIONED = """
import masthead
from masthead.meta import Struct

class Spec(Struct):
    size: int = 1

class OldBox(masthead.CustomResource, group="manifests.example.com", version="v1beta1", kind="Box", storage=False):
    spec: Spec

class Box(masthead.CustomResource, group="manifests.example.com", version="v1"):
    spec: Spec

app = masthead.Manager("boxes")

@app.controller(Box)
async def reconcile(ctx): ...
"""


def test_custom_resources_come_with_their_definition_in_all_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "boxes.py").write_text(VERSIONED, "utf-8")

    (definition, *_) = printed(capsys, str(tmp_path / "boxes.py"))

    assert definition["metadata"]["name"] == "boxes.manifests.example.com"
    assert [each["name"] for each in definition["spec"]["versions"]] == ["v1", "v1beta1"]

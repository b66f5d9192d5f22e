"""What kubectl does with OpenAPI: explain, validate, apply, diff and edit; skipped without kubectl."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubectl import KUBECTL, Kubectl

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A widget.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "description": "How large it is."},
                                    "color": {"type": "string", "enum": ["red", "blue"]},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with masthead.server.run(bootstrap=False) as server:
        yield Kubectl(server, tmp_path)


def deployment(image: str = "nginx:1", **container: Any) -> str:
    labels = {"app": "web"}
    containers = [{"name": "main", "image": image, **container}]
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
    )


def image_of(kubectl: Kubectl) -> str:
    found = kubectl.json("get deployment web")
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


def test_fields_are_explained_with_their_types(kubectl: Kubectl) -> None:
    shown = kubectl("explain deployment.spec.strategy")

    assert "FIELD: strategy <DeploymentStrategy>" in shown
    assert "  rollingUpdate\t<RollingUpdateDeployment>" in shown
    assert "  enum: Recreate, RollingUpdate" in shown
    assert "  containerPort\t<integer> -required-" in kubectl("explain pods.spec.containers.ports")


def test_kinds_are_explained_recursively(kubectl: Kubectl) -> None:
    shown = kubectl("explain cronjobs --recursive")

    assert "    jobTemplate\t<JobTemplateSpec> -required-" in shown
    assert "                  secretKeyRef\t<SecretKeySelector>" in shown


def test_kinds_are_explained_by_version_2_too(kubectl: Kubectl) -> None:
    shown = kubectl("explain --output=plaintext-openapiv2 deployment.spec.template.spec.containers")

    assert "RESOURCE: containers <[]Object>" in shown
    assert "   imagePullPolicy\t<string>" in shown


def test_an_unknown_field_is_not_explained(kubectl: Kubectl) -> None:
    done = kubectl.run("explain pods.spec.nonsense")

    assert (done.returncode, done.stderr) == (1, 'error: field "nonsense" does not exist\n')


def test_custom_resources_are_explained_by_their_definitions(kubectl: Kubectl) -> None:
    kubectl("create -f -", stdin=json.dumps(DEFINITION))

    shown = kubectl("explain widgets.spec")

    assert "  size\t<integer> -required-\n    How large it is." in shown
    assert "  enum: red, blue" in shown
    assert "A widget." in kubectl("explain widgets")


def test_strict_validation_names_the_unknown_field(kubectl: Kubectl) -> None:
    done = kubectl.run("create -f - --validate=strict", stdin=deployment(imag="typo"))

    assert done.returncode == 1
    assert (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        'unknown field "spec.template.spec.containers[0].imag"'
    ) in done.stderr


def test_validation_that_warns_creates_the_object(kubectl: Kubectl) -> None:
    done = kubectl.run("create -f - --validate=warn", stdin=deployment(imag="typo"))

    assert (done.returncode, done.stdout) == (0, "deployment.apps/web created\n")
    assert 'unknown field "spec.template.spec.containers[0].imag"' in done.stderr


def test_manifests_are_applied_again_and_again(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", stdin=deployment()) == "deployment.apps/web created\n"
    assert kubectl("apply -f -", stdin=deployment()) == "deployment.apps/web unchanged\n"
    assert kubectl("apply -f -", stdin=deployment("nginx:2")) == "deployment.apps/web configured\n"
    assert image_of(kubectl) == "nginx:2"


@pytest.mark.slow
def test_custom_resources_are_applied(kubectl: Kubectl) -> None:
    kubectl("create -f -", stdin=json.dumps(DEFINITION))
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"size": 1},
    }

    assert kubectl("apply -f -", stdin=json.dumps(widget)) == "widget.example.com/a created\n"
    widget["spec"] = {"size": 2}
    assert kubectl("apply -f -", stdin=json.dumps(widget)) == "widget.example.com/a configured\n"
    assert kubectl.json("get widget a")["spec"] == {"size": 2}


def test_a_difference_is_shown_and_not_made(kubectl: Kubectl) -> None:
    kubectl("apply -f -", stdin=deployment())

    assert kubectl("diff -f -", stdin=deployment()) == ""
    done = kubectl.run("diff -f -", stdin=deployment("nginx:2"))
    assert done.returncode == 1
    assert "-      - image: nginx:1" in done.stdout
    assert "+      - image: nginx:2" in done.stdout
    assert image_of(kubectl) == "nginx:1"


def test_objects_are_edited(kubectl: Kubectl) -> None:
    kubectl("create -f -", stdin=deployment())

    assert kubectl("edit deployment web", env={"EDITOR": "sed -i s/nginx:1/nginx:3/"}) == (
        "deployment.apps/web edited\n"
    )
    assert image_of(kubectl) == "nginx:3"


def test_manifests_are_edited_before_they_are_created(kubectl: Kubectl, tmp_path: Path) -> None:
    manifest = tmp_path / "web.json"
    manifest.write_text(deployment(), encoding="utf-8")

    kubectl(f"create --edit -f {manifest}", env={"EDITOR": "sed -i s/nginx:1/nginx:4/"})

    assert image_of(kubectl) == "nginx:4"

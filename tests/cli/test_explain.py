"""``masthead explain``: the text of kubectl, with descriptions where the server has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Ran, running_shop
from tests.server.kubectl import Kubectl, needs_current_kubectl

import masthead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from masthead.server import Server

    Cli = Callable[..., Ran]

GIZMOS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gizmos, singular: gizmo, kind: Gizmo, shortNames: [gz]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A machine, described by more words than fit into one line of the terminal, so that they wrap.
        properties:
          spec:
            type: object
            description: "What is wanted.\\n\\nIn a second paragraph, too."
            required: [size, parts]
            properties:
              size: {type: integer, description: How large it is.}
              port: {x-kubernetes-int-or-string: true}
              mode: {type: string, enum: ["", Fast, Slow, Calm, Wild, Never], description: How fast it runs.}
              level: {type: integer, enum: [1, 2]}
              labels: {type: object, additionalProperties: {type: string}}
              matrix: {type: array, items: {type: array, items: {type: number}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              docs:
                type: string
                description: With documents.
                externalDocs: {description: More about it, url: "https://example.com/docs"}
              parts:
                type: array
                description: What it is made of.
                items:
                  type: object
                  description: One part.
                  required: [name]
                  properties:
                    name: {type: string, description: The name of the part.}
                    long: {type: boolean, description: "LONG and more"}
              groups:
                type: object
                additionalProperties:
                  type: object
                  properties: {members: {type: array, items: {type: string}}}
"""
SAME = [
    "gizmos --recursive",
    "gizmos.example.com.spec --recursive",
    "gz.spec",
    "gizmo.spec.parts",
    "gz.spec.parts.name",
    "gz.spec.parts.long",
    "gz.spec.mode",
    "gz.spec.level",
    "gz.spec.docs",
    "gz.spec.port",
    "gz.spec.free",
    "gz.spec.labels",
    "gz.spec.matrix",
    "gz.spec.groups.members",
    "gizmos.spec.size --api-version=example.com/v1",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a kind whose schema has descriptions."""
    with running_shop() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        client.apply_manifests(GIZMOS.replace("LONG", 100 * "x"), field_manager="test")
        yield running


def fields_of(text: str) -> str:
    """The part below FIELDS."""
    return text.partition("FIELDS:\n")[2]


@needs_current_kubectl
@pytest.mark.parametrize("line", SAME)
def test_it_prints_what_kubectl_prints(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    assert cli(f"explain {line}").out == Kubectl(server, tmp_path)(f"explain {line}")


@needs_current_kubectl
@pytest.mark.parametrize("kind", ["deploy", "pods.spec.volumes", "crd.spec.versions.schema"])
def test_the_fields_of_built_in_kinds_are_those_of_kubectl(kind: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = Kubectl(server, tmp_path)(f"explain {kind} --recursive")

    assert fields_of(cli(f"explain {kind} --recursive").out) == fields_of(expected) != ""


def test_a_field_has_type_values_and_description(cli: Cli) -> None:
    assert cli("explain gz.spec.mode").out == (
        "GROUP:      example.com\nKIND:       Gizmo\nVERSION:    v1\n\n"
        'FIELD: mode <string>\nENUM:\n    ""\n    Fast\n    Slow\n    Calm\n    Wild\n    Never\n\n'
        "DESCRIPTION:\n    How fast it runs.\n    \n\n"
    )


def test_built_in_kinds_have_the_descriptions_of_their_classes(cli: Cli) -> None:
    printed = cli("explain pods").out

    assert "One or more containers that run together on a node" in printed
    assert "<no description>" not in printed
    assert "<empty>" not in cli("explain deploy.spec.strategy").out
    assert "The owner's kind." in cli("explain deploy.metadata.ownerReferences").out


def test_fields_of_all_kinds_are_described_for_custom_kinds_too(cli: Cli) -> None:
    printed = cli("explain widgets").out

    assert "The group and version of this type" in printed
    assert "DESCRIPTION:\n    <empty>" in printed  # of the kind itself, nothing is known


def test_a_kind_may_be_named_with_its_group(cli: Cli) -> None:
    assert cli("explain events.events.k8s.io.reason").out.startswith("GROUP:      events.k8s.io\n")
    assert cli("explain deployments.apps.spec.replicas").out.count("FIELD: replicas <integer>") == 1
    assert "FIELD: replicas <integer>" in cli("explain deploy.apps.spec.replicas").out


def test_a_missing_field_has_a_nearest_one(cli: Cli) -> None:
    ran = cli("explain pods.spec.contaners.name")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.splitlines() == [
        'masthead explain: field "contaners" does not exist in spec',
        "hint: did you mean containers, initContainers?",
    ]
    assert 'field "nothing" does not exist\n' in cli("explain pods.nothing").err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("", 2, "you must specify the type of resource to explain"),
        ("pods services", 2, "unexpected extra argument"),
        ("pods[0]", 2, "'pods[0]' is not KIND.FIELD.FIELD"),
        ("pods..spec", 2, "'pods..spec' is not KIND.FIELD.FIELD"),
        ("pods -o plaintext-openapiv2", 2, "Invalid value for '-o'"),
        ("pods --api-version=a/b/c", 2, "a/b/c"),
        ("things", 4, 'the server has no resource "things"'),
        ("pods --api-version=apps/v1", 4, 'no resource "pods" in apps/v1'),
    ],
)
def test_wrong_arguments_are_refused(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(f"explain {line}")

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err

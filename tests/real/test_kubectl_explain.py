"""What ``kubectl explain`` and validation say of the embedded server, beside what they say of a real one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.real_server import wait_until
from tests.server.kubectl import KUBECTL, PATIENCE

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

FIELD = re.compile(r" *[\w$-]+\t<.*>.*|  +enum: .*|[A-Z]+: .*")
"""A line that is no prose: a field, its values, or a heading."""
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "exhibits.explained.example.com"},
    "spec": {
        "group": "explained.example.com",
        "scope": "Namespaced",
        "names": {"plural": "exhibits", "kind": "Exhibit"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "An exhibit.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "description": "How large it is."},
                                    "color": {"type": "string", "enum": ["red", "blue"]},
                                    "port": {"x-kubernetes-int-or-string": True},
                                    "parts": {
                                        "type": "array",
                                        "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                                    },
                                    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
INVALID = {
    "a pod": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "lables": {}},
        "spec": {"containers": [{"name": "a", "image": "b", "imag": "c"}]},
    },
    "a custom resource": {
        "apiVersion": "explained.example.com/v1",
        "kind": "Exhibit",
        "metadata": {"name": "a"},
        "spec": {"size": 1, "colour": "red"},
    },
    "a wrong type": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": 1}},
}


class Explained:
    """kubectl for one server."""

    def __init__(self, *command: str) -> None:
        self._command = (str(KUBECTL), *command)

    def explains_exhibits(self) -> bool:
        return self.run("explain exhibits.spec").returncode == 0

    def run(self, line: str, stdin: object = None) -> subprocess.CompletedProcess[str]:
        text = None if stdin is None else json.dumps(stdin)
        return subprocess.run(
            [*self._command, *line.split()],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            input=text,
        )


Servers = tuple[Explained, Explained]


@pytest.fixture(scope="module")
def servers(real_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A real server and the embedded one, both with a definition that is served and described."""
    folder: Path = tmp_path_factory.mktemp("explained")
    real = Explained(
        *("--server", real_server.url, "--token", real_server.token),
        *("--certificate-authority", str(real_server.ca_file), "--cache-dir", str(folder / "real")),
    )
    with masthead.server.run(controllers=False) as server:
        config = server.write_kubeconfig(folder / "kubeconfig")
        embedded = Explained("--kubeconfig", str(config), "--cache-dir", str(folder / "embedded"))
        for each in (real, embedded):
            assert each.run("create -f -", DEFINITION).returncode == 0
            # A real server describes it a little later; the name is of no other test's definition.
            assert wait_until(each.explains_exhibits)
        yield real, embedded
        real.run("delete crd exhibits.explained.example.com")


def fields(text: str) -> list[str]:
    return [line for line in text.splitlines() if FIELD.fullmatch(line)]


@pytest.mark.timeout(300)
def test_kinds_are_explained_alike(servers: Servers) -> None:
    wanted_names, made_names = (server.run("api-resources -o name").stdout.split() for server in servers)
    # Other tests may have left definitions on the real server.
    names = [name for name in wanted_names if name in made_names]
    assert len(names) > 60

    # kubectl takes a second for each, so that all of them are for `make test-real`.
    for name in names if os.environ.get("MASTHEAD_ALL_CASES") else names[::8]:
        for option in ("", "--recursive"):
            wanted, made = (server.run(f"explain {name} {option}") for server in servers)
            assert (made.returncode, fields(made.stdout)) == (wanted.returncode, fields(wanted.stdout)), name


def test_a_custom_resource_is_explained_to_the_letter(servers: Servers) -> None:
    for path in ("exhibits.spec", "exhibits.spec.parts", "exhibits.spec.color", "exhibits.spec.nothing"):
        wanted, made = (server.run(f"explain {path}") for server in servers)

        assert (made.returncode, made.stdout, made.stderr) == (
            wanted.returncode,
            wanted.stdout,
            wanted.stderr,
        )


@pytest.mark.parametrize("validate", ["strict", "warn", "ignore"])
@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID)
def test_validation_says_the_same(servers: Servers, body: object, validate: str) -> None:
    wanted, made = (server.run(f"create -f - --dry-run=server --validate={validate}", body) for server in servers)

    assert (made.returncode, made.stdout, made.stderr) == (wanted.returncode, wanted.stdout, wanted.stderr)

"""One program run against the embedded server and a real one, and what it says and leaves behind, compared."""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.real_server import wait_until
from tests.server.kubectl import KUBECTL

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.real_server import RealServer

PATIENCE = 60
_DIFFERENT = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)"), "<time>"),
    (re.compile(r'(resource_?[vV]ersion"?: ?)"\d+"'), r'\1"<version>"'),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r"\S*/(LIVE|MERGED)-\d+\b"), r"\1"),
    (re.compile(r"kubectl-edit-\d+"), "kubectl-edit"),
    (re.compile(r"^([IWE])\d{4} [\d:.]+ +\d+ ", re.MULTILINE), r"\1 "),
)
"""What differs from run to run, and what stands for it."""


def normalised(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, word in _DIFFERENT:
        text = pattern.sub(word, text)
    return text


@dataclass(frozen=True)
class Done:
    """What a program did, without what differs from run to run.

    Attributes:
        code: Its exit code.
        stdout: What it printed.
        stderr: What it complained of.
    """

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Access:
    """How to reach a server.

    Attributes:
        kubeconfig: The file that names it.
        folder: Where programs keep what they like to.
    """

    kubeconfig: Path
    folder: Path

    def run(self, command: Sequence[str], stdin: str | None = None, env: Mapping[str, str] | None = None) -> Done:
        """Run a program that reads the kubeconfig from its environment, to its end."""
        places = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder), "TMPDIR": str(self.folder)}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            input=stdin,
            cwd=self.folder,
            env={**os.environ, **places, **(env or {})},
        )
        said = (normalised(each.replace(str(self.folder), "<folder>")) for each in (done.stdout, done.stderr))
        return Done(done.returncode, *said)


class BothServers:
    """A namespace of the same name on both servers, and programs that are run against one after the other.

    Args:
        real: The real server.
        embedded: Ours.
        namespace: What all commands are about, unless they say otherwise.
    """

    def __init__(self, real: Access, embedded: Access, namespace: str) -> None:
        self.real = real
        self.embedded = embedded
        self.namespace = namespace
        self("create", "namespace", namespace)

    def __call__(self, *words: str, stdin: object = None, env: Mapping[str, str] | None = None, code: int = 0) -> Done:
        """Run kubectl; both servers must let it say and do the same.

        Args:
            words: Its arguments.
            stdin: What it reads: text, or data for JSON.
            env: More variables of its environment.
            code: The exit code that it must end with.
        """
        return self.program(str(KUBECTL), "--namespace", self.namespace, *words, stdin=stdin, env=env, code=code)

    def program(self, *command: str, stdin: object = None, env: Mapping[str, str] | None = None, code: int = 0) -> Done:
        """Run any program that reads a kubeconfig; the rest is as for kubectl."""
        text = stdin if isinstance(stdin, str | None) else json.dumps(stdin)
        theirs = self.real.run(command, text, env)
        assert theirs.code == code, theirs
        ours = self.embedded.run(command, text, env)
        assert ours == theirs, _difference(theirs, ours)
        return ours

    def object(self, name: str) -> dict[str, Any]:
        """An object, such as ``deployment/web``, which both servers must have alike, with its managed fields.

        Those are in the order of their managers: the servers' depends on whether a second ended between two writes.
        """
        theirs, ours = self._object(self.real, name), self._object(self.embedded, name)
        assert ours == theirs
        return ours

    def _object(self, access: Access, name: str) -> dict[str, Any]:
        command = ("get", name, "--show-managed-fields", "-o", "json")
        shown = access.run((str(KUBECTL), "--namespace", self.namespace, *command))
        assert shown.code == 0, shown
        found: dict[str, Any] = json.loads(shown.stdout)
        found["metadata"].get("managedFields", []).sort(key=_by_manager)
        return found

    def managers(self, name: str) -> list[tuple[str, str, str]]:
        """The manager, operation and subresource of each entry of an object's managed fields."""
        entries = self.object(name)["metadata"].get("managedFields", [])
        return list(map(_by_manager, entries))

    def wait(self, *words: str) -> None:
        """Wait until a command succeeds on both servers."""
        command = (str(KUBECTL), "--namespace", self.namespace, *words)
        assert wait_until(lambda: not self.real.run(command).code and not self.embedded.run(command).code)


def _difference(theirs: Done, ours: Done) -> str:
    shown = difflib.unified_diff(_lines(theirs), _lines(ours), "the real server", "the embedded server", lineterm="")
    return "\n".join(shown)


def _lines(done: Done) -> list[str]:
    return f"exit code {done.code}\n{done.stdout}\n{done.stderr}".splitlines()


def _by_manager(entry: dict[str, str]) -> tuple[str, str, str]:
    return entry["manager"], entry["operation"], entry.get("subresource", "")


def real_access(server: RealServer, folder: Path) -> Access:
    """Write a kubeconfig for a real server."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "real",
                "cluster": {"server": server.url, "certificate-authority": str(server.ca_file)},
            }
        ],
        "users": [{"name": "admin", "user": {"token": server.token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    }
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(content))
    return Access(kubeconfig, folder)


@contextmanager
def embedded_access(folder: Path) -> Iterator[Access]:
    """Run an embedded server, without controllers as the real one is, for the length of a block."""
    with masthead.server.run(controllers=False) as server:
        yield Access(server.write_kubeconfig(folder / "kubeconfig"), folder)

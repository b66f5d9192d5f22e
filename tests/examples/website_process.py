"""The Website operator as a process of its own: ``masthead crds --install``, ``masthead run``, SIGTERM."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from examples.website import website

import masthead
from masthead import conditions
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MASTHEAD = [sys.executable, "-m", "masthead"]
NAMESPACE = "run-command"
WITHIN = 60.0


class OperatorProcess:
    """A running operator.

    Args:
        process: The process, whose error output has the logs, as JSON.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def read_until(self, text: str) -> dict[str, Any]:
        """The next line of the log whose message contains a text.

        Raises:
            AssertionError: If there is none before the process ends.
        """
        assert self._process.stderr is not None
        seen = ""
        for line in self._process.stderr:
            seen += line
            found: dict[str, Any] = json.loads(line)
            if text in found["msg"]:
                return found
        raise AssertionError(f"it has ended without {text!r}:\n{seen}")

    def terminate(self) -> int:
        """Ask it to stop, and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        self.read_until("released")
        return self._process.wait(WITHIN)


@contextmanager
def operator_process(kubeconfig: Path) -> Iterator[OperatorProcess]:
    """Install the definition and run the operator, for the length of a block."""
    target = website.__file__
    access = ["--kubeconfig", str(kubeconfig)]
    subprocess.run([*MASTHEAD, "crds", target, "--install", *access], check=True, capture_output=True)
    options = ["--metrics-bind", "0", "--probe-bind", "127.0.0.1:0", "--webhook-bind", "0", "--log-format", "json"]
    replicas = ["--leader-election-namespace", NAMESPACE, "--identity", "the-process"]
    command = [*MASTHEAD, "run", target, *access, *options, *replicas]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield OperatorProcess(process)
        finally:
            process.kill()


def live_in_a_process(kubeconfig: Path) -> None:
    """Create a site, see it reconciled by another process, and stop that."""
    with masthead.Client(kubeconfig=kubeconfig) as client, operator_process(kubeconfig) as operator:
        client.core_v1.namespaces().create(Namespace.new(NAMESPACE))
        operator.read_until("leading as the-process")
        sites = client.resource(website.Website, NAMESPACE)
        made = sites.create(website.Website.new("process", spec={"image": "nginx", "replicas": 0}))
        up = sites.wait_for("process", conditions.condition_is("Ready"), timeout=WITHIN)
        deployment = client.resource(Deployment, NAMESPACE).get("process")
        assert deployment.metadata.owner_references[0].uid == made.metadata.uid
        assert up.metadata.finalizers == ["example.com/directory"]

        sites.delete("process")
        sites.wait_for("process", conditions.deleted(), timeout=WITHIN)
        assert operator.terminate() == 0
        lease = client.coordination_v1.leases(NAMESPACE).get("website-operator")
        assert not lease.spec.holder_identity

"""The commands of ``masthead`` with a real server: what it prints, applies and watches there."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import Terminal, run
from tests.real.both_servers import real_access
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = pytest.mark.real

MANIFEST = """\
apiVersion: v1
kind: Namespace
metadata: {name: commands}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: commands}
data: {color: red}
"""
AGE = re.compile(r"\b\d+[smh]\w*\b *")


@pytest.fixture
def environ(real_server: RealServer, tmp_path: Path) -> dict[str, str]:
    config = real_access(real_server, tmp_path).kubeconfig
    return {**os.environ, "KUBECONFIG": str(config), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}


def test_manifests_are_applied_compared_watched_and_deleted(environ: dict[str, str]) -> None:
    applied = run(["apply", "-f", "-", "--wait"], environ, stdin=MANIFEST)
    assert applied.stdout.splitlines()[:2] == ["namespace/commands created", "configmap/settings created"]
    assert run(["diff", "-f", "-"], environ, stdin=MANIFEST).returncode == 0

    with Terminal(["watch", "cm/settings", "-n", "commands"], environ) as screen:
        screen.expect("watching configmaps in commands (1 object, 0 changes)")
        assert run(["apply", "-f", "-"], environ, stdin=MANIFEST.replace("red}", "red, size: '1'}")).returncode == 0
        screen.expect("(1 object, 1 change)")
        screen.press("\x03")
        assert screen.finish() == 130

    deleted = run(["delete", "cm", "settings", "-n", "commands"], environ)
    assert deleted.stdout == 'configmap "settings" deleted from commands namespace\n'
    missing = run(["get", "cm", "settings", "-n", "comands"], environ)
    assert (missing.returncode, missing.stderr.splitlines()[1]) == (4, "hint: did you mean commands?")


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl; MASTHEAD_KUBECTL names one")
@pytest.mark.parametrize(
    "line", ["get ns,svc -A", "get clusterroles -o name", "get svc kubernetes -o wide", "get apiservices"]
)
def test_it_prints_what_kubectl_prints(line: str, environ: dict[str, str]) -> None:
    expected = subprocess.run([str(KUBECTL), *line.split()], env=environ, capture_output=True, text=True, check=True)
    assert AGE.sub("", run(line.split(), environ).stdout) == AGE.sub("", expected.stdout)

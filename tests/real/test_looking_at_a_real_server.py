"""``doctor``, ``stats``, ``tree``, ``describe`` and ``events`` with a real server."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import run
from tests.real.both_servers import real_access

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = pytest.mark.real

FAMILY = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: default, ownerReferences: [OWNER]}
"""


@pytest.fixture
def environ(real_server: RealServer, tmp_path: Path) -> dict[str, str]:
    config = real_access(real_server, tmp_path).kubeconfig
    return {**os.environ, "KUBECONFIG": str(config), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}


def test_a_doctor_finds_a_real_server_well(environ: dict[str, str]) -> None:
    ran = run(["doctor", "-o", "json"], environ)
    checks = {each["check"]: each for each in json.loads(ran.stdout)["checks"]}

    assert ran.returncode == 0, ran.stdout
    assert {check["mark"] for check in checks.values()} <= {"ok", "skip", "warn"}
    for name in ("tcp", "http", "identity", "clock", "version", "discovery", "access", "watch", "throttling"):
        assert checks[name]["mark"] == "ok", checks[name]


def test_a_real_server_is_counted(environ: dict[str, str]) -> None:
    ran = run(["stats", "--seconds", "1", "-o", "json"], environ)
    kinds = {each["kind"]: each for each in json.loads(ran.stdout)["kinds"]}

    assert kinds["namespaces"]["objects"] >= 4
    assert kinds["namespaces"]["bytes"] > 1000
    assert not [kind for kind in kinds.values() if kind.get("note", "not watched") != "not watched"]


def test_owners_and_dependents_are_found_there(environ: dict[str, str]) -> None:
    top = FAMILY.replace("NAME", "top").replace("OWNER", "")
    assert run(["apply", "-f", "-"], environ, stdin=top).returncode == 0
    uid = run(["get", "cm", "top", "-o", "jsonpath={.metadata.uid}"], environ).stdout
    owner = f"{{apiVersion: v1, kind: ConfigMap, name: top, uid: {uid}}}"
    below = FAMILY.replace("NAME", "below").replace("OWNER", owner)
    assert run(["apply", "-f", "-"], environ, stdin=below).returncode == 0

    shown = run(["tree", "cm", "below"], environ)
    assert [line.split("/")[1].split()[0] for line in shown.stdout.splitlines()[1:]] == ["top", "below"]
    assert shown.stderr == ""
    assert run(["delete", "cm", "below", "top"], environ).returncode == 0


def test_objects_and_events_are_told(environ: dict[str, str]) -> None:
    text = run(["describe", "svc", "kubernetes"], environ).stdout

    assert text.startswith("Service default/kubernetes  v1")
    assert "\n  clusterIP: " in text
    assert run(["events", "-A"], environ).returncode == 0

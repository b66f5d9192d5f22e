"""Helm installs, upgrades and rolls back on the embedded server as it does on a real one.

``MASTHEAD_HELM`` names the program, or it is on the path. Helm 3 merges three ways; Helm 4 applies server-side, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.both_servers import BothServers

HELM = os.environ.get("MASTHEAD_HELM") or shutil.which("helm")
pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(HELM is None, reason="there is no helm here (see MASTHEAD_HELM)"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

CHART = {"apiVersion": "v2", "name": "web", "version": "1.0.0"}
VALUES = {"image": "web:1", "replicas": 2, "settings": {"a": "1", "b": "1"}, "service": True}
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: {{ .Values.image }}
        ports: [{containerPort: 80}]
        {{- with .Values.env }}
        env: {{ toJson . }}
        {{- end }}
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data: {{ toJson .Values.settings }}
"""
SERVICE = """
{{- if .Values.service }}
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}]
{{- end }}
"""


@pytest.fixture
def chart(tmp_path: Path) -> str:
    folder = tmp_path / "web"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(json.dumps(CHART))
    (folder / "values.yaml").write_text(json.dumps(VALUES))
    for name, text in {"deployment": DEPLOYMENT, "settings": CONFIG_MAP, "service": SERVICE}.items():
        (folder / "templates" / f"{name}.yaml").write_text(text)
    return str(folder)


def sides() -> list[str]:
    """Where this Helm can merge."""
    if HELM is None:
        return []
    shown = subprocess.run([HELM, "upgrade", "--help"], capture_output=True, text=True, check=False).stdout
    return ["--server-side=true", "--server-side=false"] if "--server-side" in shown else [""]


class Release:
    """A release on both servers."""

    def __init__(self, both: BothServers, *options: str) -> None:
        self._both = both
        self._options = options

    def __call__(self, *words: str, code: int = 0, **values: object) -> str:
        """Run Helm; returns what it complains of. What it prints has times in its own form."""
        command = [str(HELM), "--namespace", self._both.namespace, *words, "--output=json"]
        options = [
            *self._options,
            *(f"--set-json={key}={json.dumps(value)}" for key, value in values.items()),
        ]
        if words[0] == "rollback":
            command.pop()
        ends = [each.run([*command, *options]) for each in (self._both.real, self._both.embedded)]
        assert [end.code for end in ends] == [code, code], ends
        assert ends[0].stderr == ends[1].stderr
        return ends[0].stderr

    def objects(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What both servers have of it, with managed fields."""
        return self._both.object("deployment/web"), self._both.object("configmap/settings")


@pytest.mark.parametrize("side", sides())
def test_a_release_is_installed_upgraded_and_rolled_back(both: BothServers, chart: str, side: str) -> None:
    release = Release(both, *side.split())
    release("install", "shop", chart)
    first, _ = release.objects()
    both.object("service/web")

    # Somebody changes what the chart does not declare, and something that it does.
    both("annotate", "deployment/web", "mine=yes")
    both("patch", "configmap/settings", "-p", '{"data":{"c":"mine"}}')

    release(
        *("upgrade", "shop", chart),
        image="web:2",
        env=[{"name": "A", "value": "1"}],
        settings={"a": "2", "b": None},
        service=False,
    )
    changed, settings = release.objects()
    assert changed["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    assert settings["data"] == {"a": "2", "c": "mine"}
    both("get", "service/web", code=1)

    release("rollback", "shop", "1")
    back, settings = release.objects()
    assert back["spec"] == first["spec"]
    assert back["metadata"]["annotations"]["mine"] == "yes"
    assert settings["data"] == {"a": "1", "b": "1", "c": "mine"}
    both.object("service/web")


@pytest.mark.parametrize("side", sides())
def test_changes_of_another_client_are_merged_or_conflict(both: BothServers, chart: str, side: str) -> None:
    release = Release(both, *side.split())
    release("install", "shop", chart)
    both("scale", "deployment/web", "--replicas=7")

    is_conflict = side == "--server-side=true"
    said = release("upgrade", "shop", chart, replicas=3, code=int(is_conflict))
    assert ("conflict" in said) is is_conflict
    release.objects()

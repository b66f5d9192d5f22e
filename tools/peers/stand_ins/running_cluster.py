"""A pytest plugin: pytest-kind's ``KindCluster`` is the server that ``KUBECONFIG`` names.

pytest loads it by ``-p running_cluster`` before the suite's ``conftest.py`` imports ``pytest_kind.cluster``: the suite
stays unedited, and needs no container runtime. It runs in the suite's environment, where our packages are missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pytest_kind import cluster  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]


class RunningCluster:
    """What suites use of ``pytest_kind.cluster.KindCluster``, for a cluster that runs already."""

    def __init__(self, name: str, **options: object) -> None:
        self.name = name
        self.options = options
        self.kubeconfig_path = Path(os.environ["KUBECONFIG"])
        self.kubectl_path = Path(shutil.which("kubectl") or "kubectl")

    def create(self, config_file: object = None) -> None:
        """No-op: the server runs."""

    def delete(self) -> None:
        """No-op: `make peers` ends the server."""

    def kubectl(self, *args: str, **options: object) -> str:
        """Run kubectl and return its output, as KindCluster does.

        Raises:
            subprocess.CalledProcessError: If kubectl fails.
        """
        del options
        environ = {**os.environ, "KUBECONFIG": str(self.kubeconfig_path)}
        output = subprocess.check_output([self.kubectl_path, *args], env=environ)
        return output.decode()


cluster.KindCluster = RunningCluster

"""kube-controller-manager, with chosen controllers, and kube-scheduler, beside an API server."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.real_server import ASSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PROGRAM = Path(os.environ.get("MASTHEAD_CONTROLLER_MANAGER") or ASSETS / "kube-controller-manager")
SCHEDULER = ASSETS / "kube-scheduler"


@contextmanager
def controller_manager(
    url: str, token: str, ca_file: Path, folder: Path, controllers: Iterable[str], options: Iterable[str] = ()
) -> Iterator[None]:
    """Run kube-controller-manager until the end of the block.

    Args:
        url: The address of the API server.
        token: A token of an administrator.
        ca_file: The certificate to trust.
        folder: A folder for the kubeconfig and the log.
        controllers: The controllers to run.
        options: Further options.
    """
    kubeconfig = write_kubeconfig(url, token, ca_file, folder)
    paths = [f"--{side}kubeconfig={kubeconfig}" for side in ("", "authentication-", "authorization-")]
    usual = [
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials=false",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
    ]
    command = [str(PROGRAM), *paths, *usual, f"--controllers={','.join(controllers)}", *options]
    with running_process(command, folder / "kube-controller-manager.log"):
        yield


@contextmanager
def scheduler(url: str, token: str, ca_file: Path, folder: Path) -> Iterator[None]:
    """Run kube-scheduler until the end of the block; see `controller_manager`."""
    kubeconfig = write_kubeconfig(url, token, ca_file, folder)
    paths = [f"--{side}kubeconfig={kubeconfig}" for side in ("", "authentication-", "authorization-")]
    command = [str(SCHEDULER), *paths, "--leader-elect=false", "--secure-port=0"]
    with running_process(command, folder / "kube-scheduler.log"):
        yield


@contextmanager
def running_process(command: Sequence[str], log: Path) -> Iterator[None]:
    """Run a program until the end of the block; it must not end by itself."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield
            assert process.poll() is None, log.read_text()[-2000:]
        finally:
            process.terminate()
            process.wait()


def write_kubeconfig(url: str, token: str, ca_file: Path, folder: Path) -> Path:
    """Write a kubeconfig for an administrator of a server."""
    folder.mkdir(parents=True, exist_ok=True)
    kubeconfig = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": {"server": url, "certificate-authority": str(ca_file)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    }
    kubeconfig.write_text(json.dumps(config), "utf-8")
    return kubeconfig

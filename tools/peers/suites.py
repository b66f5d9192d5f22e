"""The suites: what to install, where their tests are, and how to run them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

__all__ = ["SUITES", "Suite"]

CLUSTERS: Final = Path(__file__).with_name("clusters")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Tests of another project, and how to run them.

    Attributes:
        name: The name of the suite, and of its clone in the folder of clones.
        project: The project's name on the package index.
        version: The release to install.
        tag: The release's tag in the project's repository, or nothing if the sdist contains the tests.
        paths: Files and folders of the project that the tests consist of.
        tests: What pytest gets as arguments, below the folder with the tests.
        extras: Extras of the project that the tests need.
        requirements: Further packages that the tests need.
        options: Further options of pytest.
        like: The cluster that the suite is written for, as `masthead.server.run` knows it.
        manifests: Files of this repository with objects that the suite expects in its cluster.
        latency: Seconds that delay each request, for suites that rely on the latency of a network.
        start_seconds: Seconds between the binding and the start of a pod, for suites that rely on pending pods.
        is_in_package: Whether the tests are a part of the package, and have to run within the installed one.
        topic: The topic of the tests, for the report.
    """

    name: str
    project: str
    version: str
    tag: str = ""
    paths: tuple[str, ...]
    tests: tuple[str, ...]
    extras: str = ""
    requirements: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    like: Literal["kind"] | None = None
    manifests: tuple[Path, ...] = ()
    latency: float = 0.0
    start_seconds: float = 0.0
    is_in_package: bool = False
    topic: str

    @property
    def has_configuration(self) -> bool:
        """Whether files of the suite configure pytest."""
        return "pyproject.toml" in self.paths

    @property
    def requirement(self) -> str:
        """The requirement for pip."""
        return f"{self.project}{f'[{self.extras}]' if self.extras else ''}=={self.version}"


SUITES: Final = (
    Suite(
        name="kubernetes",
        project="kubernetes",
        version="36.0.3",
        tag="v36.0.3",
        paths=("kubernetes/e2e_test",),
        tests=("kubernetes/e2e_test", "kubernetes/dynamic"),
        requirements=("pytest",),
        is_in_package=True,
        topic="end-to-end tests, and those of the dynamic client",
    ),
    Suite(
        name="kubernetes-aio",
        project="kubernetes",
        version="36.0.3",
        tag="v36.0.3",
        # The wheel lacks `utils`, which the tests import.
        paths=("kubernetes/aio/e2e_test", "kubernetes/aio/utils"),
        tests=("kubernetes/aio/e2e_test",),
        extras="asyncio",
        requirements=("pytest",),
        is_in_package=True,
        topic="end-to-end tests of the async variant",
    ),
    Suite(
        name="kubernetes_asyncio",
        project="kubernetes_asyncio",
        version="35.0.1",
        tag="35.0.1",
        paths=("kubernetes_asyncio/e2e_test",),
        tests=("kubernetes_asyncio/e2e_test",),
        requirements=("pytest",),
        is_in_package=True,
        topic="end-to-end tests",
    ),
    Suite(
        name="lightkube",
        project="lightkube",
        version="0.21.0",
        tag="2f41260",
        paths=("e2e-tests", "pyproject.toml"),
        tests=("e2e-tests",),
        requirements=("pytest", "pytest-asyncio"),
        manifests=(CLUSTERS / "metrics-server.yaml",),
        topic="end-to-end tests",
    ),
    Suite(
        name="kr8s",
        project="kr8s",
        version="0.20.15",
        paths=("conftest.py", "kr8s", "examples", "docs", "pyproject.toml"),
        tests=("kr8s",),
        requirements=(
            # Later releases wrap kr8s' own errors in exception groups.
            "httpx-ws<0.9",
            "kubernetes==36.0.3",
            "kubernetes-asyncio",
            "kubernetes-validate",
            "lightkube",
            "pykube-ng",
            "pytest",
            "pytest-asyncio",
            "pytest-kind",
            "pytest-rerunfailures",
            "trio",
        ),
        options=("-p", "running_cluster", "-o", "addopts="),
        like="kind",
        latency=0.005,
        start_seconds=0.5,
        topic="all tests",
    ),
    Suite(
        name="kopf",
        project="kopf",
        version="1.45.2",
        paths=("examples", "peering.yaml", "pyproject.toml", "tests"),
        tests=("tests/e2e", "examples"),
        requirements=(
            "certbuilder",
            "certvalidator",
            "freezegun",
            "kmock",
            "kubernetes",
            "looptime",
            "oscrypto",
            "pykube-ng",
            "pytest>=9",
            "pytest-aiohttp",
            "pytest-asyncio",
            "pytest-mock",
        ),
        options=(
            "--only-e2e",
            "-p",
            "openssl_versions",
            # aiohttp 3 closes TLS connections late; kopf's conftest.py makes errors of all warnings.
            "-W",
            "ignore::pytest.PytestUnraisableExceptionWarning",
        ),
        topic="the examples, by their end-to-end tests",
    ),
    Suite(
        name="kubespawner",
        project="jupyterhub-kubespawner",
        version="7.1.0",
        tag="7.1.0",
        paths=("tests", "pyproject.toml"),
        tests=("tests",),
        extras="test",
        # Its pytest-asyncio (< 0.23) needs a pytest of its time; later clients have other classes of models, and
        # JupyterHub 6 wants an event loop where the suite has none.
        requirements=("jupyterhub<6", "kubernetes==36.0.3", "kubernetes_asyncio==35.0.1", "pytest<8"),
        topic="all tests",
    ),
)

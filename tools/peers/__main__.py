"""``python -m tools.peers [NAME ...]``: run suites, check the reasons of failures, write the report."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.peers.cluster import run_cluster
from tools.peers.environments import install, packages_folder
from tools.peers.images import IMAGES
from tools.peers.report import format_report, format_rows, replace_figures
from tools.peers.results import read_reasons, read_results, unexplained, unused_reasons
from tools.peers.sources import MissingCloneError, extract_tests
from tools.peers.suites import SUITES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.peers.results import Results
    from tools.peers.suites import Suite

ROOT: Final = Path(__file__).parents[2]
ENVIRONMENTS: Final = ROOT / ".venv-peers"
BUILD: Final = ROOT / "build" / "peers"
REPORT: Final = ROOT / "docs" / "peers.md"
PAGE: Final = ROOT / "docs" / "works-with-your-client.md"
REASONS: Final = Path(__file__).with_name("reasons.toml")
STAND_INS: Final = Path(__file__).with_name("stand_ins")

RESULTS: Final = "results.xml"
TEST_SECONDS: Final = 240
SUITE_SECONDS: Final = 3600

# Variables that would direct a client to another cluster, or change how pytest runs.
_MISLEADING: Final = ("HTTP_PROXY", "HTTPS_PROXY", "KUBERNETES_", "PYTEST_", "VIRTUAL_ENV", "http_proxy", "https_proxy")


def main() -> int:
    """Run the command line, and return the exit code: 1 if failures and known reasons differ."""
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="python -m tools.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"suites: {', '.join(names)} (all)")
    parser.add_argument("--clones", type=Path, help="the folder with clones of projects whose sdists have no tests")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(names):
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    chosen = [suite for suite in SUITES if not arguments.names or suite.name in arguments.names]
    if not shutil.which("kubectl"):
        parser.error("suites run kubectl: install it, or extend PATH by the folder that KUBEBUILDER_ASSETS names")
    results, missing = run_suites(chosen, arguments.clones)
    for line in missing:
        print(line, file=sys.stderr)
    print("\n".join(format_rows(results)))
    reasons = read_reasons(REASONS)
    complaints = compare(results, reasons)
    print("\n".join(complaints), file=sys.stderr)
    # The report shows earlier results of suites that did not run.
    results = {suite: results[suite] if suite in results else read_last(suite) for suite in SUITES if has_run(suite)}
    if len(results) == len(SUITES):
        REPORT.write_text(format_report(results, reasons, IMAGES), "utf-8")
        PAGE.write_text(replace_figures(PAGE.read_text("utf-8"), results), "utf-8")
    return 1 if complaints or missing else 0


def run_suites(suites: Sequence[Suite], clones: Path | None) -> tuple[Mapping[Suite, Results], Sequence[str]]:
    """Run suites; return the results, and the reasons why suites could not run."""
    results: dict[Suite, Results] = {}
    missing: list[str] = []
    for suite in suites:
        print(f"{suite.name}: {suite.requirement}", flush=True)
        try:
            results[suite] = run_suite(suite, clones)
        except MissingCloneError as error:
            missing.append(str(error))
    return results, missing


def has_run(suite: Suite) -> bool:
    """Tell whether a suite has results, from this run or an earlier one."""
    return (BUILD / suite.name / RESULTS).exists()


def read_last(suite: Suite) -> Results:
    """Read the results of the last run of a suite."""
    return read_results((BUILD / suite.name / RESULTS).read_text("utf-8"))


def run_suite(suite: Suite, clones: Path | None) -> Results:
    """Install a project, and run its tests.

    Raises:
        MissingCloneError: If its tests need a clone that is missing.
        RuntimeError: If pytest failed before it wrote results.
    """
    python = install(suite, ENVIRONMENTS / suite.name)
    folder = BUILD / suite.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tests = packages_folder(python) if suite.is_in_package else folder / "tests"
    tests.mkdir(exist_ok=True)
    extract_tests(suite, python=python, clones=clones, into=tests)
    if not suite.has_configuration:
        (tests / "pytest.ini").touch()  # otherwise pytest would use the configuration of this repository
    kubeconfig, xml = folder / "kubeconfig", folder / RESULTS
    options = ("-p", "no:cacheprovider", "--timeout", str(TEST_SECONDS), f"--junitxml={xml}", *suite.options)
    with run_cluster(suite, kubeconfig), (folder / "output.txt").open("wb") as output:
        subprocess.run(
            (python, "-m", "pytest", *options, *suite.tests),
            cwd=tests,
            env=suite_environ(os.environ, folder, kubeconfig),
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=SUITE_SECONDS,
            check=False,  # the results contain the failures
        )
    if not xml.exists():
        raise RuntimeError(f"{suite.name}: pytest wrote no results; {folder / 'output.txt'} says why")
    return read_last(suite)


def suite_environ(environ: Mapping[str, str], home: Path, kubeconfig: Path) -> dict[str, str]:
    """Return the environment variables of a suite, without those that would direct it to another cluster."""
    assets = environ.get("KUBEBUILDER_ASSETS", "/usr/local/kubebuilder/bin")
    kept = {name: value for name, value in environ.items() if not name.startswith(_MISLEADING)}
    return kept | {
        "HOME": str(home),
        "KUBECONFIG": str(kubeconfig),
        "NO_PROXY": "127.0.0.1,localhost",
        "PATH": f"{assets}{os.pathsep}{environ.get('PATH', '')}",
        "PYTHONPATH": str(STAND_INS),
    }


def compare(results: Mapping[Suite, Results], reasons: Mapping[str, Mapping[str, str]]) -> Sequence[str]:
    """Return failures without a known reason, and reasons without a failure."""
    complaints: list[str] = []
    for suite, outcome in results.items():
        known = reasons.get(suite.name, {})
        complaints += [
            f"{suite.name}: {failure.test} fails: {failure.message}" for failure in unexplained(outcome, known)
        ]
        complaints += [f"{suite.name}: {pattern} does not fail any more" for pattern in unused_reasons(outcome, known)]
    return complaints


if __name__ == "__main__":
    sys.exit(main())

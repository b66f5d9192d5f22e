"""Results of other projects' suites, and what becomes of them in the report."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools.peers.__main__ import REASONS, REPORT, compare, suite_environ
from tools.peers.report import format_report, format_rows, replace_figures
from tools.peers.results import Outcome, Results, read_reasons, read_results
from tools.peers.sources import MissingCloneError, extract_tests
from tools.peers.suites import SUITES, Suite

XML = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest">
  <testcase classname="kubernetes.e2e_test.test_client.TestClient" name="test_pods"/>
  <testcase classname="kubernetes.e2e_test.test_client.TestClient" name="test_nodes">
    <failure message="AssertionError: 0 &gt; 1&#10;more">trace</failure>
  </testcase>
  <testcase classname="kubernetes.e2e_test.test_client.TestClient" name="test_nodes">
    <error message="failed on teardown"/>
  </testcase>
  <testcase classname="kr8s.tests.test_api" name="test_get[all]">
    <skipped type="pytest.skip" message="by hand"/>
  </testcase>
  <testcase classname="kr8s.tests.test_api" name="test_stdin"><skipped type="pytest.xfail" message="no v5"/></testcase>
</testsuite></testsuites>
"""
RESULTS = read_results(XML)
SUITE = Suite(name="any", project="any-client", version="1.0", tag="v1.0", paths=("e2e",), tests=("e2e",), topic="all")
FAILED = "test_client::TestClient::test_nodes"


def test_a_test_counts_once_and_expected_failures_pass() -> None:
    assert RESULTS.passed == 2
    assert RESULTS.failed == (Outcome(FAILED, "AssertionError: 0 > 1"),)
    assert RESULTS.skipped == (Outcome("test_api::test_get[all]", "by hand"),)
    assert RESULTS.total == 3


@pytest.mark.parametrize(
    ("reasons", "complaints"),
    [
        ({"test_client::*": "why"}, []),
        ({}, [f"any: {FAILED} fails: AssertionError: 0 > 1"]),
        ({FAILED: "why", "test_api::*": "why"}, ["any: test_api::* does not fail any more"]),
    ],
)
def test_failures_and_known_reasons_must_agree(reasons: dict[str, str], complaints: list[str]) -> None:
    assert compare({SUITE: RESULTS}, {"any": reasons}) == complaints


def test_brackets_of_a_pattern_are_those_of_parameters() -> None:
    results = Results(0, (Outcome("test_a::test_b[x]", "no"),))

    assert compare({SUITE: results}, {"any": {"test_a::test_b[x]": "why"}}) == []
    assert len(compare({SUITE: results}, {"any": {"test_a::test_b[xyz]": "why"}})) == 2


def test_the_report_has_a_reason_for_each_failure() -> None:
    report = format_report({SUITE: RESULTS}, {"any": {FAILED: "no such thing | yet"}}, "- `nginx` answers.")

    assert "| any: all | any-client 1.0 | 3 | 2 | 1 | 1 | clone, `v1.0` |" in format_rows({SUITE: RESULTS})
    assert f"| `{FAILED}` | no such thing \\| yet |" in report
    assert "| by hand | 1 |" in report
    assert report.endswith("- `nginx` answers.\n")


def test_figures_replace_the_earlier_ones() -> None:
    page = "before\n<!-- Figures, written by `make peers`. -->\nold\n<!-- The end of the figures. -->\nafter\n"

    updated = replace_figures(page, {SUITE: RESULTS})

    assert "| any | 2 of 3 |" in updated
    assert "old" not in updated
    assert replace_figures(updated, {SUITE: RESULTS}) == updated
    assert (updated[:6], updated[-6:]) == ("before", "after\n")


def test_the_committed_report_has_every_suite_and_no_unknown_reason() -> None:
    report = REPORT.read_text("utf-8")

    for suite in SUITES:
        assert f"| {suite.name}: {suite.topic} | {suite.project} {suite.version} |" in report
    assert "unknown: " not in report
    assert set(read_reasons(REASONS)) <= {suite.name for suite in SUITES}


def test_a_suite_without_tests_in_its_sdist_needs_a_clone(tmp_path: Path) -> None:
    with pytest.raises(MissingCloneError, match=r"PEERS/any, with its tag v1\.0"):
        extract_tests(SUITE, python=Path("python"), clones=tmp_path, into=tmp_path)


def test_tests_come_from_the_tag_of_a_clone_or_from_its_files(tmp_path: Path) -> None:
    clone, into = tmp_path / "any", tmp_path / "into"
    into.mkdir()
    (clone / "e2e").mkdir(parents=True)
    (clone / "e2e" / "test_a.py").write_text("released", "utf-8")

    extract_tests(SUITE, python=Path("python"), clones=tmp_path, into=into)
    assert (into / "e2e" / "test_a.py").read_text("utf-8") == "released"

    git = ("git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "a"), ("tag", "v1.0")):
        subprocess.run((*git, *command), check=True)
    (clone / "e2e" / "test_a.py").write_text("later", "utf-8")
    extract_tests(SUITE, python=Path("python"), clones=tmp_path, into=into)
    assert (into / "e2e" / "test_a.py").read_text("utf-8") == "released"


def test_nothing_leads_a_suite_to_another_cluster(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "https_proxy": "http://proxy", "PATH": "/bin", "LANG": "C"}

    found = suite_environ(environ, tmp_path, tmp_path / "kubeconfig")

    assert found["KUBECONFIG"] == str(tmp_path / "kubeconfig")
    assert found["LANG"] == "C"
    assert found["PATH"].endswith("/bin")
    assert not {"KUBERNETES_SERVICE_HOST", "https_proxy"} & set(found)

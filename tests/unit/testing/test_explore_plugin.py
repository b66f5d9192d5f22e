"""Explorations in pytest: the mark, the fixtures, and the options of the command line."""

from __future__ import annotations

import pytest

# Before pytester, which forgets modules that a test has imported.
import masthead.testing._explore.explore
import masthead.testing._explore_plugin  # noqa: F401

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

OPERATOR = """
import masthead
import pytest
from masthead.api.core.v1 import ConfigMap, Secret


def make_app(names=("one", "two")):
    app = masthead.Manager("accounts")

    @app.controller(ConfigMap, reads=[Secret], label_selector="account=yes")
    async def reconcile(ctx, account):
        if await ctx.get(Secret, names[0]) is None:
            for name in names:
                await ctx.client.core_v1.secrets("default").create(Secret.new(name))

    return app


def make_good_app():
    return make_app(("one",))


async def workload(env):
    account = ConfigMap.new("shop", labels={"account": "yes"})
    await env.client.core_v1.config_maps("default").create(account)
    await env.wait_for_idle()


"""


def run(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(OPERATOR + tests)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers", *arguments)


def test_a_marked_test_fails_with_the_report(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.explore(make_app, workload, budget=1000, processes=1)
def test_survives():
    raise RuntimeError("the test itself is not reached")


@pytest.mark.explore(make_good_app, workload, budget=1000, processes=1)
def test_good(tmp_path):
    tmp_path.joinpath("reached").touch()
""",
        "--explore-budget=4",
        "--explore-html=pages",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["1 finding in *", "*secrets default/two does not exist at the end*", "*explore.replay(*"]
    )
    pages = sorted(path.name for path in (pytester.path / "pages").iterdir())
    stem = "test_a_marked_test_fails_with_the_report.py"
    assert pages == [f"{stem}-test_good.html", f"{stem}-test_survives.html"]


def test_a_test_may_judge_the_report_itself(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.explore(make_app, workload, budget=4, processes=1)
def test_judges(explore_report):
    assert [finding.oracle for finding in explore_report.findings] == ["end-state"]
    assert explore_report.seed == 7


def test_explores(kube_explore):
    report = kube_explore(make_good_app, workload, budget=1000, processes=1)
    assert not report.findings, report
    assert (report.seed, report.schedules <= 4) == (7, True)
""",
        "--explore-seed=7",
        "--explore-budget=4",
    )
    result.assert_outcomes(passed=2)


def test_a_mark_without_a_workload_is_an_error(pytester: pytest.Pytester) -> None:
    result = run(pytester, "@pytest.mark.explore('shop:app')\ndef test_nothing(): ...\n")
    result.stdout.fnmatch_lines(["*the mark explore names operator and workload*"])
    assert result.ret != 0

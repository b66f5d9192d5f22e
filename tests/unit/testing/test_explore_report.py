"""Reports of explorations: words, text, JSON, HTML and regression tests, of runs made by hand."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.testing import Environment
from masthead.testing._explore.describe import describe, describe_schedule, format_ordinal, step_name
from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    HeldEvents,
    OtherKeyOrder,
    PlannedFault,
    Restart,
    ServerRestart,
    SlowController,
)
from masthead.testing._explore.findings import Finding
from masthead.testing._explore.replay_call import ReplayCall
from masthead.testing._explore.report import Report
from masthead.testing._explore.report_text import format_finding
from masthead.testing._explore.rules import RULES, rule_of
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.timeline import Gap, condense, format_entry, select_entries
from masthead.testing._explore.trace import ChangeRecord, ReadRecord, RunResult, TraceEntry, WriteRecord

pytest_plugins = ["pytester"]
HOSTILE = "<script>alert(1)</script>\x1b[31m\x00\"'&\ud800"

RUN = RunResult(
    Schedule(),
    entries=[
        TraceEntry(0.0, "replica", "operator-1 starts", 0, "operator-1"),
        TraceEntry(0.1, "step", "create shop", 1),
        TraceEntry(0.11, "reconcile", "websites default/shop begins: added", 1, "operator-1", "r1"),
        TraceEntry(0.12, "write", "create secrets default/password", 1, "operator-1", "r1", 1),
        TraceEntry(0.13, "write", "apply deployments.apps default/shop", 1, "operator-1", "r1", 2),
        TraceEntry(0.13, "fault", "operator-1 crashes", 1, "operator-1"),
        TraceEntry(1.0, "rest", "idle", 1),
        TraceEntry(1.1, "step", "delete shop", 2),
        TraceEntry(2.0, "rest", "idle", 2),
    ],
    writes=[
        WriteRecord(1, 1, "operator-1", "create", "secrets", "default/password", 201, "websites", "default/shop", "r1"),
        WriteRecord(2, 1, "operator-1", "apply", "deployments.apps", "default/shop", 0, reconcile="r1"),
    ],
    reads=[ReadRecord(1, 1, "operator-1", "/api/v1/pods", 200)],
    changes=[
        ChangeRecord(10, 1, "ADDED", "websites.example.com", "default/shop", "u1", "user"),
        ChangeRecord(14, 2, "DELETED", "websites.example.com", "default/shop", "u1", "user"),
    ],
    calls=["charge shop"],
)

SENTENCES: dict[str, tuple[PlannedFault, str]] = {
    "crash before": (
        Crash(2, "before"),
        (
            "the operator crashes before it sends `apply deployments.apps default/shop` (its 2nd write), "
            "and is started again"
        ),
    ),
    "crash stored": (
        Crash(1),
        (
            "the operator crashes after the server has stored `create secrets default/password` (its 1st "
            "write), and is "
            "started again"
        ),
    ),
    "crash answered, stale": (
        Crash(1, "answered", view=12, resources=("websites.example.com",)),
        (
            "the operator crashes after the response to `create secrets default/password` (its 1st write), "
            "and is started "
            "again; until the end of step 1, its caches show websites.example.com as of revision 12 (before "
            "the deletion "
            "of websites.example.com default/shop in step 2)"
        ),
    ),
    "crash at a call": (
        Crash(0, call=1),
        "the operator crashes at its 1st call of the external system, `charge shop`, and is started again",
    ),
    "restart": (
        Restart(1),
        "the operator is killed when all is idle after step 1 (create shop), and is started again",
    ),
    "restart, stale": (
        Restart(2, view=9, last=3),
        (
            "the operator is killed when all is idle after step 2 (delete shop), and is started again; until "
            "the end of "
            "step 3, its caches show everything as of revision 9 (before the creation of websites.example.com "
            "default/shop "
            "in step 1)"
        ),
    ),
    "conflict": (
        Answer(1, "conflict", times=3),
        "`create secrets default/password` (its 1st write) fails with a conflict (409), 3 times in a row",
    ),
    "lost": (
        Answer(1, "lost"),
        "the server performs `create secrets default/password` (its 1st write), and its response is lost",
    ),
    "code": (Answer(9, "503"), "its 9th write fails with 503"),
    "read": (FailedRead(1), "the operator's 1st live read, `GET /api/v1/pods`, fails with 503"),
    "early": (
        EarlyStep(1),
        "step 2 (delete shop) begins before the operator sends `create secrets default/password` (its 1st write)",
    ),
    "edit": (
        Edit(1),
        (
            "another client annotates the object before the operator sends "
            "`create secrets default/password` (its 1st write)"
        ),
    ),
    "edit at rest": (
        Edit(0, 1, "secrets", "default/password"),
        "another client annotates secrets default/password at the end of step 1 (create shop)",
    ),
    "held": (
        HeldEvents("websites.example.com", 12, 2),
        (
            "watches of websites.example.com send nothing after revision 12 (before the deletion of "
            "websites.example.com "
            "default/shop in step 2) until the end of step 2 (delete shop)"
        ),
    ),
    "lost events": (
        HeldEvents("pods", 12, 2, is_lost=True),
        (
            "watches of pods send nothing after revision 12 until the end of step 2 (delete shop), and then "
            "end with 410, "
            "so that the events in between are never seen"
        ),
    ),
    "down": (Absence(2, 2), "the operator is down during step 2 (delete shop), and sees only the outcome"),
    "paused": (
        Absence(1, 2, "workers"),
        "the operator's workers are paused during steps 1 to 2, while its caches follow",
    ),
    "hand over": (
        HandOver(2, view=12, resources=("pods", "secrets")),
        (
            "the leader stands still before it sends `apply deployments.apps default/shop` (its 2nd write), until a "
            "standby leads; the standby's caches show pods, secrets as of revision 12"
        ),
    ),
    "server": (
        ServerRestart(2),
        "the API server restarts before the operator sends `apply deployments.apps default/shop` (its 2nd write)",
    ),
    "server at rest": (ServerRestart(0, 1), "the API server restarts at the end of step 1 (create shop)"),
    "lifo": (OtherKeyOrder(), "keys are reconciled last in, first out"),
    "random": (OtherKeyOrder("random"), "keys are reconciled in a random order"),
    "slow": (SlowController("garbagecollector"), "the built-in controller garbagecollector is 30 s late"),
}


def make_app() -> None: ...


async def workload(env: object) -> None: ...


def find(
    *faults: PlannedFault, oracle: str = "end-state", summary: str = "secrets default/password differs"
) -> Finding:
    return Finding(oracle, summary, Schedule(faults=faults), ["-   a: 1", "+   a: 2"], "secrets", RUN)


def report_of(*findings: Finding) -> Report:
    call = ReplayCall.of(make_app, workload, crds=[Environment], server_options={"watch_list": False}, external=None)
    return Report(findings, schedules=12, seconds=3.5, coverage={"crash": (3, 4)}, notes=["a note"], call=call)


@pytest.mark.parametrize("name", SENTENCES)
def test_faults_are_described_in_sentences(name: str) -> None:
    fault, sentence = SENTENCES[name]
    assert describe(fault, RUN) == sentence


def test_every_kind_of_fault_is_described() -> None:
    assert {type(fault) for fault, _ in SENTENCES.values()} == set(PlannedFault.__args__)


FAULTS = st.one_of(*(st.builds(kind) for kind in PlannedFault.__args__))


@given(FAULTS)
def test_any_fault_is_described_without_a_run(fault: PlannedFault) -> None:
    assert describe(fault)
    assert describe(fault, RUN)


def test_steps_that_are_left_out_are_described() -> None:
    assert describe_schedule(Schedule(faults=(OtherKeyOrder(),), steps=2, skipped=(1, 3)), RUN) == [
        "keys are reconciled last in, first out",
        "the workload ends after step 2 (delete shop)",
        "steps 1, 3 of the workload left out",
    ]
    assert describe_schedule(Schedule()) == ["this happens without any fault"]


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (22, "22nd")]
)
def test_ordinals(number: int, text: str) -> None:
    assert format_ordinal(number) == text


def test_a_finding_fits_on_a_screen_and_has_a_replay_line() -> None:
    finding = Finding(
        "end-state", "s", Schedule(faults=(Crash(1),)), [f"+ line {n}" for n in range(500)], "", long_run()
    )
    lines = format_finding(finding, ReplayCall.of(make_app, workload)).splitlines()
    assert len(lines) <= 55
    assert all(len(line) <= 140 for line in lines)
    assert lines[-1] == f'    explore.replay("{finding.schedule}", make_app, workload)'
    assert "    … 484 more lines" in lines


def long_run() -> RunResult:
    entries = [TraceEntry(number / 10, "change", f"change {number}", 1) for number in range(1000)]
    entries[500] = TraceEntry(50.0, "fault", "operator-1 crashes", 1, "operator-1")
    return RunResult(Schedule(), entries=entries)


def test_the_timeline_shows_the_fault_its_neighbours_and_the_end() -> None:
    finding = Finding("end-state", "s", Schedule(faults=(Crash(1),)), run=long_run())
    shown = select_entries(finding, 8)
    texts = [entry if isinstance(entry, Gap) else entry.entry.text for entry in shown]
    assert texts[:5] == [Gap(498), "change 498", "change 499", "operator-1 crashes", "change 501"]
    assert texts[-1] == "change 999"


def test_gaps_and_entries_add_up_to_the_run() -> None:
    for limit in range(1, 12):
        shown = select_entries(find(Crash(1)), limit)
        assert sum(entry.count if isinstance(entry, Gap) else 1 for entry in shown) == len(condense(RUN))


def test_the_timeline_repeats_nothing() -> None:
    run = RunResult(
        Schedule(),
        entries=[
            TraceEntry(0.0, "change", "ADDED namespaces default", 0, number=1),
            TraceEntry(0.0, "step", "step 1", 1),
            TraceEntry(0.0, "change", "ADDED pods default/a by user", 1, number=2),
            TraceEntry(0.0, "reconcile", "pods default/a begins: added", 1, "operator-1", "r1"),
            TraceEntry(0.0, "change", "ADDED secrets default/a by operator-1", 1, number=3),
            TraceEntry(0.0, "write", "create secrets default/a", 1, "operator-1", "r1", 1),
            TraceEntry(0.0, "reconcile", "pods default/a ends", 1, "operator-1", "r1"),
            TraceEntry(0.0, "step", "step 2", 2),
        ],
        changes=[
            ChangeRecord(2, 1, "ADDED", "pods", "default/a", "u1", "user"),
            ChangeRecord(3, 1, "ADDED", "secrets", "default/a", "u2", "operator-1"),
        ],
    )
    assert [format_entry(entry).strip() for entry in condense(run)] == [
        "0.000  step 1",
        "0.000    ADDED pods default/a by user",
        "0.000    operator-1  reconcile pods default/a: added",
        "0.000      operator-1  write 1: create secrets default/a",
    ]
    assert step_name(1, run) == "create pods default/a"


def make_retries(count: int) -> list[TraceEntry]:
    return [
        entry
        for number in range(1, count + 1)
        for entry in (
            TraceEntry(0.0, "reconcile", "pods default/a begins: retry", 1, "operator-1", f"r{number}"),
            TraceEntry(0.0, "write", "create secrets default/a (409)", 1, "operator-1", f"r{number}", number),
            TraceEntry(0.0, "reconcile", f"pods default/a fails: Error('{number}')", 1, "operator-1", f"r{number}"),
        )
    ]


def test_the_first_of_many_failures_is_shown_in_full() -> None:
    entries = [
        TraceEntry(0.0, "step", "step 1", 1),
        *make_retries(20),
        TraceEntry(0.0, "rest", "all is idle after step 1", 1),
        TraceEntry(1.0, "step", "step 2", 2),
        TraceEntry(1.0, "replica", "operator-2 starts", 2, "operator-2"),
    ]
    run = RunResult(Schedule(), entries=entries, rests=[5])
    finding = Finding("exceptions", "pods default/a: Error", Schedule(), run=run)

    assert [str(entry).strip() for entry in select_entries(finding, 18)] == [
        "0.000  step 1",
        "0.000    operator-1  reconcile pods default/a: retry (19 times more)",
        "0.000      operator-1  write 1: create secrets default/a (409) (19 times more)",
        "0.000    operator-1  reconcile pods default/a fails: Error('1') (19 more failures)",
        "Gap(count=57)",
        "0.000  all is idle after step 1",
        "1.000  after the workload",
        "1.000    operator-2 starts",
    ]


def test_the_deletion_of_the_object_in_question_is_shown() -> None:
    entries = [
        TraceEntry(number / 10, "change", f"MODIFIED pods default/p-{number} by user", 1) for number in range(90)
    ]
    entries[20] = TraceEntry(2.0, "change", "DELETED secrets default/password by garbage", 1)
    finding = Finding("loss", "secrets default/password was deleted", Schedule(), run=RunResult(Schedule(), entries))

    texts = [entry.entry.text for entry in select_entries(finding, 5) if not isinstance(entry, Gap)]
    assert "DELETED secrets default/password by garbage" in texts


def test_the_text_of_a_report_is_the_report() -> None:
    report = report_of(find(Crash(1)))
    assert report.startswith("1 finding in 12 schedules (3.5 s, 3 of 4 fault points, seed 0)\n\nfinding: end-state\n")
    assert str(report) == report
    assert repr(report) == "<Report: 1 finding in 12 schedules (3.5 s, 3 of 4 fault points, seed 0)>"
    assert "docs/operators.md#crash-between-two-writes" in report
    assert "notes\n  - a note" in report


def test_pytest_shows_a_report_in_full(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        """
        from masthead.testing._explore.findings import Finding
        from masthead.testing._explore.report import Report
        from masthead.testing._explore.schedule import Schedule

        def test_explore():
            report = Report([Finding("end-state", "secrets differ", Schedule(), [f"line {n}" for n in range(15)])])
            assert not report.findings, report
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*1 finding in 0 schedules*", "*line 0", "*line 14", "*explore.replay(*"])


@pytest.mark.parametrize(
    ("finding", "anchor"),
    [
        (find(Crash(1)), "crash-between-two-writes"),
        (find(Crash(1, view=3)), "decision-on-a-stale-spec"),
        (find(Answer(1, "lost")), "lost-response"),
        (find(Answer(1, "503")), "swallowed-error"),
        (find(OtherKeyOrder(), Absence(1, 1)), "change-seen-once"),
        (find(Edit(1), oracle="loss"), "write-without-a-version"),
        (find(Restart(1, view=2), oracle="dead-owner"), "stale-owner-of-the-same-name"),
        (find(oracle="hot-loop"), "own-writes"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.oracle,
)
def test_a_finding_names_the_likely_rule(finding: Finding, anchor: str) -> None:
    rule = rule_of(finding)
    assert rule is not None
    assert rule.anchor == anchor


def make_write(verb: str, key: str = "default/a", resource: str = "secrets") -> WriteRecord:
    return WriteRecord(1, 1, "operator-1", verb, resource, key, 200, "users", "default/p", "r1")


LEFT_OVER = "secrets default/b exists at the end, but does not without faults"
TRACES: dict[str, tuple[Finding, str]] = {
    "cleanup that is strict": (
        Finding("exceptions", "NotFoundError: delete secrets a", Schedule(faults=(Crash(1),)), run=RUN),
        "finalizer-in-the-wrong-order",
    ),
    "failure after a crash": (
        Finding("exceptions", "AlreadyExistsError: create", Schedule(faults=(Crash(1),)), run=RUN),
        "crash-between-two-writes",
    ),
    "external call that was never made": (
        Finding("external-state", "", Schedule(faults=(Crash(1),)), run=RunResult(Schedule(), calls=["buy('a')"])),
        "crash-between-two-writes",
    ),
    "external call that was made twice": (
        Finding("external-state", "", Schedule(faults=(Crash(1),)), run=RunResult(Schedule(), calls=["buy('a')"] * 2)),
        "effect-repeated-after-a-crash",
    ),
    "generated name": (
        Finding(
            "end-state",
            LEFT_OVER,
            Schedule(faults=(Crash(1),)),
            run=RunResult(Schedule(), writes=[make_write("create", "default/key-*")]),
        ),
        "effect-repeated-after-a-crash",
    ),
    "deletion by name": (
        Finding(
            "end-state", "", Schedule(faults=(EarlyStep(1),)), run=RunResult(Schedule(), writes=[make_write("delete")])
        ),
        "decision-on-a-stale-spec",
    ),
    "replacement": (
        Finding(
            "end-state", "", Schedule(faults=(EarlyStep(1),)), run=RunResult(Schedule(), writes=[make_write("update")])
        ),
        "write-without-a-version",
    ),
    "list in memory": (
        Finding(
            "end-state",
            LEFT_OVER,
            Schedule(faults=(Crash(1),)),
            run=RunResult(Schedule(), writes=[make_write("delete")]),
        ),
        "change-seen-once",
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_the_run_tells_which_rule_is_meant(name: str) -> None:
    finding, anchor = TRACES[name]
    rule = rule_of(finding)
    assert rule is not None
    assert rule.anchor == anchor


def test_a_dead_owner_is_named() -> None:
    changes = [
        ChangeRecord(5, 1, "DELETED", "sites.example.com", "default/a", "u1", "user"),
        ChangeRecord(9, 2, "MODIFIED", "secrets", "default/a", "u2", "operator-2", owners=("u1",)),
        ChangeRecord(10, 2, "DELETED", "secrets", "default/a", "u2", "garbage", owners=("u1",)),
    ]
    summary, schedule = "secrets default/a was deleted", Schedule(faults=(Restart(1, view=3),))
    rule = rule_of(Finding("loss", summary, schedule, subject="secrets", run=RunResult(schedule, changes=changes)))
    assert rule is not None
    assert rule.anchor == "stale-owner-of-the-same-name"
    assert "operator-2 wrote it at revision 9 with an owner that is gone: the former sites.example.com" in rule.text


@pytest.mark.parametrize(
    ("reasons", "anchor"),
    [("sites default/p added", "read-but-not-watched"), ("secrets default/a added", "decision-on-a-stale-spec")],
)
def test_a_kind_that_wakes_nobody_is_named(reasons: str, anchor: str) -> None:
    entries = [TraceEntry(0.0, "reconcile", f"users default/p begins: {reasons}", 1, "operator-1", "r1")]
    run = RunResult(Schedule(), entries=entries, writes=[make_write("apply")], resources=["secrets"])
    rule = rule_of(Finding("end-state", "", Schedule(faults=(EarlyStep(1),)), subject="secrets", run=run))
    assert rule is not None
    assert rule.anchor == anchor


@pytest.mark.parametrize(("writer", "anchor"), [("r1", "own-writes"), ("", "change-seen-once")])
def test_a_restart_that_changes_something_shows_memory_or_needless_writes(writer: str, anchor: str) -> None:
    entries = [TraceEntry(0.0, "reconcile", "users default/p begins: added", 1, "operator-1", "r1")]
    later = [ChangeRecord(9, 2, "MODIFIED", "secrets", "default/a", "u2", "operator-2", "users default/p r2")]
    writes = [msgspec.structs.replace(make_write("apply"), reconcile=writer)]
    run = RunResult(Schedule(), entries=entries, writes=writes, later_changes=later)
    rule = rule_of(Finding("not-idempotent", "", Schedule(), subject="secrets", run=run))
    assert rule is not None
    assert rule.anchor == anchor


def test_without_a_hint_there_is_no_rule() -> None:
    assert rule_of(find()) is None


def test_json_has_a_version_and_everything_about_a_finding() -> None:
    content = json.loads(report_of(find(Crash(1))).to_json())
    assert content["version"] == 1
    assert content["coverage"] == {"crash": {"tried": 3, "known": 4}}
    [finding] = content["findings"]
    assert finding["faults"][0]["kind"] == "crash"
    assert finding["faults"][0]["text"].startswith("the operator crashes after")
    assert Schedule.parse(finding["schedule"]) == Schedule(faults=(Crash(1),))
    assert len(finding["timeline"]) == len(RUN.entries)


class Tags(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_html_escapes_everything_and_loads_nothing() -> None:
    entries = [TraceEntry(0.0, "write", HOSTILE, 1, HOSTILE, HOSTILE, 1)]
    finding = Finding(HOSTILE, HOSTILE, Schedule(), [HOSTILE], HOSTILE, RunResult(Schedule(), entries=entries))
    call = ReplayCall(HOSTILE, HOSTILE, {"crds": HOSTILE})
    page = Report([finding], notes=[HOSTILE], unreached=[HOSTILE], coverage={HOSTILE: (1, 2)}, call=call).to_html()
    page.encode()
    tags = Tags()
    tags.feed(page)
    assert tags.tags.count("script") == 1
    assert tags.attributes.isdisjoint({"src", "href", "onclick", "onerror", "style"})
    assert "\x1b" not in page
    assert "\x00" not in page
    assert not re.search(r"url\(|@import|https?:", page)


def test_html_has_a_lane_for_each_replica_and_is_bounded() -> None:
    page = report_of(find(Crash(1))).to_html()
    assert "<th>operator-1</th>" in page
    assert '<span class="added">+   a: 2</span>' in page
    many = RunResult(Schedule(), entries=[TraceEntry(0.0, "change", "x" * 10_000, 1)] * 5_000)
    findings = [find_in(many)] * 3
    assert len(Report(findings).to_html()) < 5_000_000


def find_in(run: RunResult) -> Finding:
    return Finding("end-state", "s", Schedule(), run=run)


def test_a_regression_test_replays_the_schedule() -> None:
    report = report_of(find(Crash(1)), find(Crash(2)), find(summary=f"a\nb {HOSTILE}"))
    source = report.to_test()
    tree = ast.parse(source)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names == ["test_end_state_secrets", "test_end_state_secrets_2", "test_end_state_secrets_3"]
    assert f"from {__name__} import make_app, workload" in source
    assert "from masthead.testing import Environment, explore" in source
    assert "        server_options={'watch_list': False},\n" in source
    assert f'        "{Schedule(faults=(Crash(1),))}",\n' in source


def test_arguments_that_cannot_be_imported_are_named() -> None:
    def local() -> None: ...

    call = ReplayCall.of(local, [workload], objects=[{"kind": "x" * 5000}])
    assert call.missing == (
        "make_app: test_arguments_that_cannot_be_imported_are_named.<locals>.local is not at the top of a module",
        "workload: a list is not at the top of a module",
        "objects: too long to show",
    )
    assert "# Move these to the top of a module" in Report([find()], call=call).to_test()


STEPS = [workload]


def test_a_list_of_steps_is_imported_by_the_name_of_its_variable() -> None:
    call = ReplayCall.of(make_app, STEPS)
    assert (call.workload, call.missing) == ("STEPS", ())


def test_faults_are_plain_data_in_json() -> None:
    report = report_of(find(*(fault for fault, _ in SENTENCES.values())))
    [finding] = json.loads(report.to_json())["findings"]
    assert len({fault["kind"] for fault in finding["faults"]}) == len(PlannedFault.__args__)
    assert msgspec.json.decode(report.to_json())["version"] == 1


def test_rules_have_one_sentence_each() -> None:
    for anchor, rule in RULES.items():
        assert rule.text.endswith(".")
        assert rule.link == f"docs/operators.md#{anchor}"


def test_a_text_stands_for_the_manager_of_a_module() -> None:
    assert ReplayCall.of("shop.main:app", workload).line(Schedule()).startswith('explore.replay("v1:')
    assert ReplayCall.of("shop.main:app", workload).make_app == '"shop.main:app"'


def test_a_command_replays_with_an_option() -> None:
    call = ReplayCall(command="masthead explore shop:app")
    assert call.line(Schedule()) == f"masthead explore shop:app --replay {Schedule()}"


def test_a_report_gets_another_call() -> None:
    report = report_of(find(Crash(1)))
    other = report.with_call(ReplayCall(command="masthead explore shop:app"))
    assert "masthead explore shop:app --replay v1:" in other
    assert (other.findings, other.coverage, other.notes) == (report.findings, report.coverage, report.notes)

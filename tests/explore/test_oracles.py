"""Each oracle reports what went wrong in a run, and nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from masthead.errors import ArgumentError
from masthead.testing._explore.canonical_state import EDITED
from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    HandOver,
    OtherKeyOrder,
    Restart,
)
from masthead.testing._explore.oracles.judge import judge, judge_reference
from masthead.testing._explore.oracles.rules import ORACLES, OracleRules
from masthead.testing._explore.reference import ReferenceRuns
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.trace import ChangeRecord, ObjectView, RunResult, TraceEntry, Violation
from tests.explore.histories import History

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.testing._explore.faults import PlannedFault

SHOPS = "shops.example.com"
BOOKS = "default/books"
CRASH = Crash(1, "stored")
CLAIM = "default/data-books-0"


def learn(build: Callable[[History], object]) -> ReferenceRuns:
    """Return the reference of two runs without faults."""
    histories = [History(seed=seed) for seed in (1, 2)]
    for history in histories:
        build(history)
    return ReferenceRuns.learn([history.result for history in histories])


def oracles_of(reference: ReferenceRuns, history: History, rules: OracleRules | None = None) -> list[str]:
    return [finding.oracle for finding in judge(reference, history.result, rules)]


def build_shop(history: History, image: str = "shop:1", *, replicas: int = 1) -> str:
    """A shop of a user, and the Deployment of the operator."""
    shop = history.put(SHOPS, BOOKS, by="user", spec={"image": image})
    history.put("deployments.apps", BOOKS, owner=shop, spec={"replicas": replicas, "image": image})
    history.put(SHOPS, BOOKS, spec={"image": image}, status={"image": image, "uid": shop})
    return shop


def build(history: History) -> None:
    build_shop(history)


def test_equal_end_state_is_no_finding() -> None:
    run = History(CRASH, seed=7)
    run.strike()
    build(run)
    assert judge(learn(build), run.result) == []


def test_missing_surplus_and_different_objects_are_named() -> None:
    run = History(CRASH)
    build_shop(run, replicas=2)
    run.put("services", "default/extra", owner=build_shop(run, replicas=2))

    def build_with_service(history: History) -> None:
        build(history)
        history.put("services", BOOKS)

    reference = learn(build_with_service)
    summaries = [finding.summary for finding in judge(reference, run.result)]
    assert summaries == [
        "deployments.apps default/books differs at the end: spec.replicas: 2 instead of 1",
        "services default/books does not exist at the end, but does without faults",
        "services default/extra exists at the end, but does not without faults",
    ]


def test_random_values_are_learned_and_their_copies_must_match() -> None:
    def build_passwords(history: History, copy: str = "") -> None:
        password = f"random-{history.result.schedule.seed}-password"
        history.put("secrets", "default/a", data={"password": b64encode(password.encode()).decode()})
        history.put("configmaps", "default/b", data={"url": f"db://{copy or password}@db"})

    reference = learn(build_passwords)
    equal, different = History(CRASH, seed=9), History(CRASH, seed=9)
    build_passwords(equal)
    build_passwords(different, "random-8-password")
    assert judge(reference, equal.result) == []
    [finding] = judge(reference, different.result)
    assert (
        finding.summary
        == "data.password of secrets default/a and data.url of configmaps default/b do not match at the "
        "end; without faults, they do"
    )


def test_random_value_that_is_missing_is_a_difference() -> None:
    def build_keys(history: History, *, is_complete: bool = True) -> None:
        key = f"random-{history.result.schedule.seed}-key"
        history.put("secrets", "default/a", data={"key": key} if is_complete else {"name": "a"})
        history.put(SHOPS, BOOKS, by="user", status={"hash": sha256(key.encode()).hexdigest()[:12]})

    reference = learn(build_keys)
    missing, complete, other = (History(CRASH, seed=9) for _ in range(3))
    build_keys(missing, is_complete=False)
    build_keys(complete)
    build_keys(other)
    other.put(SHOPS, BOOKS, status={"hash": "0123456789ab"})
    assert "data.key: (absent) instead of random-1-key" in judge(reference, missing.result)[0].details
    assert judge(reference, complete.result) == []
    [finding] = judge(reference, other.result)
    assert "data.key of secrets default/a and status.hash of shops.example.com default/books do not" in finding.summary


def test_password_generated_again_is_a_loss() -> None:
    def build_password(history: History) -> None:
        history.put("secrets", "default/a", data={"password": f"random-{history.result.schedule.seed}-password"})

    run = History(Restart(1, view=3), seed=9)
    build_password(run)
    run.put("secrets", "default/a", data={"password": "random-10-password"})
    [finding] = judge(learn(build_password), run.result)
    assert finding.oracle == "loss"
    assert "data.password of secrets default/a was generated again" in finding.summary


def test_generated_names_are_compared_by_content() -> None:
    def build_jobs(history: History, suffixes: tuple[str, str], image: str = "job:2") -> None:
        for suffix, name in zip(suffixes, ("job:1", image), strict=True):
            history.put("jobs.batch", f"default/run-{suffix}", generate_name="run-", spec={"image": name})
        history.put(SHOPS, BOOKS, by="user", status={"job": f"run-{suffixes[0]}"})

    def build_by_seed(history: History) -> None:
        build_jobs(history, ("aaaaa", "bbbbb") if history.result.schedule.seed == 1 else ("zzzzz", "ccccc"))

    reference = learn(build_by_seed)
    equal, different = History(CRASH), History(CRASH)
    build_jobs(equal, ("fffff", "eeeee"))
    build_jobs(different, ("fffff", "eeeee"), "job:3")
    assert judge(reference, equal.result) == []
    assert oracles_of(reference, different) == ["end-state"]


def test_names_from_the_time_are_learned() -> None:
    def build_backup(history: History, *numbers: int) -> None:
        for number in numbers or (history.result.schedule.seed * 1000,):
            history.put("configmaps", f"default/backup-{number}", data={"number": "1"})

    reference = learn(build_backup)
    equal, twice = History(CRASH), History(CRASH)
    build_backup(equal, 7777)
    build_backup(twice, 7777, 8888)
    assert judge(reference, equal.result) == []
    assert oracles_of(reference, twice) == ["orphans"]


def test_repeated_job_is_a_repeated_effect() -> None:
    def build_job(history: History, *suffixes: str) -> None:
        for suffix in suffixes or ("aaaaa",):
            history.put("jobs.batch", f"default/run-{suffix}", generate_name="run-")
            history.write("create", "jobs.batch", "default/run-*", code=201)

    run = History(Answer(1, "lost"))
    build_job(run, "aaaaa", "bbbbb")
    run.delete("jobs.batch", "default/run-bbbbb")
    [finding] = judge(learn(build_job), run.result)
    assert finding.oracle == "repeated-effect"
    assert finding.summary == "jobs.batch default/run-* was created 2 times instead of 1"


def test_surplus_pod_of_a_service_that_is_removed_again_is_no_finding() -> None:
    def build_pod(history: History, *suffixes: str, policy: str = "Always") -> None:
        for suffix in suffixes or ("aaaaa",):
            history.put("pods", f"default/web-{suffix}", generate_name="web-")
            body = f'{{"spec": {{"restartPolicy": "{policy}"}}}}'.encode()
            history.write("create", "pods", "default/web-*", code=201, body=body)

    run, once = History(Answer(1, "lost")), History(Answer(1, "lost"))
    build_pod(run, "aaaaa", "bbbbb")
    run.delete("pods", "default/web-bbbbb")
    build_pod(once, "aaaaa", "bbbbb", policy="Never")
    once.delete("pods", "default/web-bbbbb")
    assert judge(learn(build_pod), run.result) == []
    assert oracles_of(learn(build_pod), once) == ["repeated-effect"]


def test_deleted_claim_is_a_loss_although_it_is_created_again() -> None:
    def build_claim(history: History) -> None:
        history.put(SHOPS, BOOKS, by="user")
        history.put("persistentvolumeclaims", CLAIM)

    run = History(Restart(1, view=3))
    build_claim(run)
    run.strike()
    old, new = ObjectView(3, "a", 1), ObjectView(9, "a", 2)
    run.write("delete", "persistentvolumeclaims", CLAIM, primary_seen=old, primary_live=new)
    run.delete("persistentvolumeclaims", CLAIM)
    run.put("persistentvolumeclaims", CLAIM)
    [finding] = judge(learn(build_claim), run.result)
    assert finding.oracle == "loss"
    assert (
        finding.summary == "persistentvolumeclaims default/data-books-0 was deleted although the operator saw "
        "generation 1 of default/books, and the live one is 2"
    )


def test_objects_made_on_old_data_and_removed_again_are_no_loss() -> None:
    run = History(Restart(1, view=3))
    build(run)
    run.strike()
    run.put("configmaps", "default/old")
    run.delete("configmaps", "default/old")
    assert judge(learn(build), run.result) == []


def test_object_created_anew_after_a_crash_is_a_finding() -> None:
    run = History(CRASH)
    build(run)
    run.strike()
    run.delete("deployments.apps", BOOKS)
    run.put(
        "deployments.apps",
        BOOKS,
        owner=run.result.objects[SHOPS][BOOKS]["metadata"]["uid"],
        spec={"replicas": 1, "image": "shop:1"},
    )
    [finding] = judge(learn(build), run.result)
    assert finding.oracle == "update-summary"
    assert "was deleted on the way; without faults, it is never" in finding.summary


def test_job_that_never_runs_after_a_crash_is_a_finding() -> None:
    def build_job(history: History) -> None:
        history.put("jobs.batch", "default/run")
        history.delete("jobs.batch", "default/run")

    assert oracles_of(learn(build_job), History(CRASH)) == ["update-summary"]
    assert oracles_of(learn(build_job), History(Absence(1, 1))) == []


def test_orphan_outlives_its_owner() -> None:
    def build_and_delete(history: History) -> None:
        build(history)
        history.delete(SHOPS, BOOKS, by="user")
        history.delete("deployments.apps", BOOKS, by="garbage")

    run = History(CRASH)
    build(run)
    run.put("configmaps", "default/left")
    run.delete(SHOPS, BOOKS, by="user")
    run.delete("deployments.apps", BOOKS, by="garbage")
    assert oracles_of(learn(build_and_delete), run) == ["orphans"]


def test_living_object_with_a_dead_owner_is_one_finding() -> None:
    run = History(CRASH)
    owner = build_shop(run)
    run.delete(SHOPS, BOOKS, by="user")
    build_shop(run)
    run.put("deployments.apps", BOOKS, owner=owner, spec={"replicas": 1, "image": "shop:1"})

    def build_twice(history: History) -> None:
        build(history)
        history.delete(SHOPS, BOOKS, by="user")
        build(history)

    [finding] = judge(learn(build_twice), run.result)
    assert finding.oracle == "dead-owner"
    assert "lives, but belongs to uid of the deleted shops.example.com default/books" in finding.summary


def test_deletion_that_never_ends_is_reported_unless_it_does_not_without_faults() -> None:
    def build_deleting(history: History) -> None:
        metadata = {"finalizers": ["example.com/x"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        history.put(SHOPS, BOOKS, by="user", metadata=metadata)

    run = History(CRASH)
    build_deleting(run)
    findings = judge(learn(lambda history: history.put(SHOPS, BOOKS, by="user")), run.result)
    assert [finding.oracle for finding in findings] == ["stuck-finalizer"]
    assert "its finalizers: example.com/x" in findings[0].summary
    assert oracles_of(learn(build_deleting), run) == []


def test_problems_and_failures_are_reported() -> None:
    run = History(CRASH)
    build(run)
    run.result.failures = ["controller shops of default/books: TypeError: no (3 times)"]
    assert oracles_of(learn(build), run) == ["exceptions"]
    run.result.problem = "after 600 s, work remains:\n  controller shops retries default/books"
    assert oracles_of(learn(build), run) == ["not-converging"]
    run.result.problem = "controller shops has reconciled default/books 500 times within 1 s"
    assert oracles_of(learn(build), run) == ["hot-loop"]


def test_failures_without_faults_are_expected() -> None:
    def build_failing(history: History) -> None:
        build(history)
        history.result.failures = ["controller shops of default/books: ValueError: bad spec (3 times)"]

    run = History(CRASH)
    build_failing(run)
    reference = learn(build_failing)
    assert judge(reference, run.result) == []
    assert [finding.oracle for finding in judge_reference(reference)] == ["exceptions"]


def test_error_of_the_workload_counts_if_its_steps_began_in_time() -> None:
    for fault, expected in ((CRASH, ["workload"]), (Absence(1, 2), []), (EarlyStep(1), [])):
        run = History(fault)
        run.result.workload_error = "AssertionError: no page (workload, line 3)"
        assert oracles_of(learn(build), run) == expected


def test_changes_after_a_restart_count_unless_only_times_differ() -> None:
    run = History(CRASH)
    build(run)
    last = run.result.changes[-1]
    same = ChangeRecord(999, 1, "MODIFIED", SHOPS, BOOKS, last.uid, "operator-1", digest=last.digest)
    run.result.later_changes = [same]
    assert oracles_of(learn(build), run) == []
    run.result.later_changes = [ChangeRecord(999, 1, "MODIFIED", SHOPS, BOOKS, last.uid, "operator-1", digest=1)]
    assert oracles_of(learn(build), run) == ["not-idempotent"]


def test_lost_annotation_counts_only_if_it_survives_when_all_is_idle() -> None:
    def edit(*, keeps: bool, write: int) -> RunResult:
        run = History(Edit(write) if write else Edit(0, 1, "deployments.apps", BOOKS))
        build(run)
        uid = run.result.objects["deployments.apps"][BOOKS]["metadata"]["uid"]
        if keeps:
            run.result.objects["deployments.apps"][BOOKS]["metadata"]["annotations"] = {EDITED: "yes"}
        run.write("update", "deployments.apps", BOOKS, live=ObjectView(5, uid))
        return run.result

    reference = learn(build)
    assert judge(reference, edit(keeps=False, write=1)) == []
    reference.learn_edit(edit(keeps=True, write=0))
    assert [finding.oracle for finding in judge(reference, edit(keeps=False, write=1))] == ["lost-update"]
    assert judge(reference, edit(keeps=True, write=1)) == []


def test_write_after_the_lease_was_lost_counts_unless_it_was_under_way() -> None:
    run = History(HandOver(1))
    build(run)
    run.write("apply", "deployments.apps", BOOKS, is_leading=False)
    assert oracles_of(learn(build), run) == []
    run.write("apply", "deployments.apps", BOOKS, is_leading=False)
    assert oracles_of(learn(build), run) == ["lease"]


def test_controllers_that_undo_each_other_fight() -> None:
    run = History(CRASH)
    build(run)
    run.result.problem = "work remains"
    for turn in range(10):
        run.put("deployments.apps", BOOKS, by=("operator-1", "user")[turn % 2], spec={"replicas": turn % 2})
    assert oracles_of(learn(build), run) == ["not-converging", "fight"]


def test_external_systems_are_compared_and_calls_counted() -> None:
    def build_bucket(history: History, *, times: int = 1) -> None:
        shop = build_shop(history)
        history.result.calls = [f"create('{shop}')"] * times
        history.result.external = {"buckets": {f"bucket-{index}": ("north", shop) for index in range(times)}}

    reference = learn(build_bucket)
    equal, twice = History(CRASH, seed=5), History(CRASH, seed=5)
    build_bucket(equal)
    build_bucket(twice, times=2)
    assert judge(reference, equal.result) == []
    assert oracles_of(reference, twice) == ["repeated-effect", "external-state"]


def test_repeated_call_without_effect_is_no_finding() -> None:
    def build_record(history: History, *, times: int = 1) -> None:
        history.result.calls = ["ensure('books')"] * times
        history.result.external = {"records": {"books"}}

    run = History(CRASH)
    build_record(run, times=3)
    assert judge(learn(build_record), run.result) == []


def test_fakes_may_count_their_calls_and_keep_a_log() -> None:
    def build_record(history: History, *, calls: int = 1, log: tuple[str, ...] = ("set",), sent: int = 1) -> None:
        state = {"records": {"books": "a"}, "calls": calls, "log": list(log), "sent": ["mail"] * sent}
        history.result.external = state
        history.result.calls = ["set('books')"] * calls

    reference = learn(build_record)
    runs: tuple[tuple[PlannedFault, dict[str, Any], list[str]], ...] = (
        (CRASH, {"calls": 2}, []),
        (CRASH, {"log": ("set", "set")}, ["external-state"]),
        (Restart(1, view=3), {"log": ("set", "set")}, []),
        (Restart(1, view=3), {"sent": 2}, ["external-state"]),
        (Absence(1, 1), {"sent": 0}, []),
    )
    for fault, options, expected in runs:
        run = History(fault)
        build_record(run, **options)
        assert oracles_of(reference, run) == expected


def test_counter_that_grows_at_each_restart_is_no_difference() -> None:
    def build_counter(history: History, *, restarts: int = 0, replicas: int = 1) -> None:
        history.put(SHOPS, BOOKS, by="user", status={"starts": restarts, "replicas": replicas, "name": "a"})

    restarted = History(Restart(1))
    build_counter(restarted, restarts=1)
    runs = [History(seed=seed) for seed in (1, 2)]
    for history in runs:
        build_counter(history)
    reference = ReferenceRuns.learn([history.result for history in runs], [restarted.result])
    run = History(CRASH)
    build_counter(run, restarts=2)
    assert judge(reference, run.result) == []
    build_counter(run, restarts=2, replicas=2)
    assert oracles_of(reference, run) == ["end-state"]


def test_history_in_a_status_may_differ_if_states_were_skipped() -> None:
    def build_status(history: History, *, previous: str = "1", replicas: int = 1) -> None:
        conditions = [{"type": "Ready", "status": "True", "reason": previous, "message": previous}]
        status = {"previousVersion": previous, "replicas": replicas, "conditions": conditions}
        history.put(SHOPS, BOOKS, by="user", status=status)

    for fault, expected in ((CRASH, ["end-state"]), (Absence(1, 2), [])):
        run = History(fault)
        build_status(run, previous="2")
        assert oracles_of(learn(build_status), run) == expected
    run = History(Absence(1, 2))
    build_status(run, replicas=2)
    assert oracles_of(learn(build_status), run) == ["end-state"]


def test_leftovers_of_former_states_may_be_missing_if_a_late_operator_has_none() -> None:
    def build_versions(history: History, *versions: int, services: int = 1) -> None:
        for step, version in enumerate((1, 2, 3), 1):
            history.put(SHOPS, BOOKS, by="user", spec={"version": version}, status={"jobs": len(versions)})
            if version in versions:
                history.put("jobs.batch", f"default/migrate-{version}")
            if step == 3 and services:
                history.put("services", BOOKS)
            history.rest()

    late, skipping, crashed, broken, surplus = (
        History(fault) for fault in (Absence(1, 3), Absence(1, 2), CRASH, Absence(2, 3), Absence(2, 3))
    )
    references = [History(seed=seed) for seed in (1, 2)]
    for history in references:
        build_versions(history, 1, 2, 3)
    build_versions(late, 3)
    reference = ReferenceRuns.learn([history.result for history in references], late=late.result)
    build_versions(skipping, 2, 3)
    build_versions(crashed, 2, 3)
    build_versions(broken, 1, 3, services=0)
    build_versions(surplus, 3)
    surplus.put("configmaps", "default/other")
    assert judge(reference, skipping.result) == []
    assert oracles_of(reference, crashed)[:1] == ["end-state"]
    assert [finding.subject for finding in judge(reference, broken.result)] == ["services"]
    assert [finding.subject for finding in judge(reference, surplus.result)] == ["configmaps"]


def test_marked_steps_must_lead_to_the_same_state() -> None:
    def build_three(history: History, last: str = "shop:1") -> None:
        for image in ("shop:1", "shop:2", last):
            build_shop(history, image)
            history.rest()

    rules = OracleRules(recovers=[(1, 3)])
    good, bad = learn(build_three), learn(lambda history: build_three(history, "shop:3"))
    assert judge_reference(good, rules) == []
    assert {finding.oracle for finding in judge_reference(bad, rules)} == {"recovers"}


def test_violated_invariants_are_reported() -> None:
    run = History(CRASH)
    build(run)
    run.result.violations = [Violation("one_primary", "two primaries", 12, 1, is_at_rest=False)]
    [finding] = judge(learn(build), run.result)
    assert finding.summary == "one_primary is violated at revision 12: two primaries"


@pytest.mark.parametrize(
    "ignored",
    ["deployments.apps/*", "*/default/books", "deployments.apps/*/spec.replicas", "deployments.apps/*/spec"],
)
def test_ignored_objects_and_fields_are_no_findings(ignored: str) -> None:
    run = History(CRASH)
    build_shop(run, replicas=2)
    assert oracles_of(learn(build), run, OracleRules(ignore=[ignored])) == []
    assert oracles_of(learn(build), run, OracleRules(ignore=["services/*"])) == ["end-state"]


def test_predicates_and_switches_leave_findings_out() -> None:
    run = History(CRASH)
    build_shop(run, replicas=2)
    assert oracles_of(learn(build), run, OracleRules(ignore=[lambda finding: finding.oracle == "end-state"])) == []
    assert oracles_of(learn(build), run, OracleRules(oracles={"end-state": False})) == []
    with pytest.raises(ArgumentError, match="there is no oracle 'endstate'; the oracles are not-converging"):
        OracleRules(oracles={"endstate": False})


def test_every_oracle_has_a_switch_and_a_function() -> None:
    from masthead.testing._explore.oracles import judge as module

    assert sorted(module._ORACLES) == sorted(ORACLES)


def test_runs_of_one_seed_that_differ_are_told() -> None:
    first, second = History(seed=1), History(seed=1)
    build(first)
    build_shop(second)
    second.put("services", BOOKS)
    reference = ReferenceRuns.learn([first.result, second.result])
    assert reference.nondeterminism == "'ADDED services default/books' in one run only"
    assert ReferenceRuns.learn([first.result, History(seed=2).result]).nondeterminism == ""
    with pytest.raises(ArgumentError, match="at least one run"):
        ReferenceRuns.learn([])


def test_pods_of_a_deployment_do_not_count_unless_the_operator_labels_them() -> None:
    def build_pod(history: History, suffix: str = "aaaaa", *, role: str = "", image: str = "a") -> None:
        metadata = {"labels": {"app": "web", "pod-template-hash": suffix}}
        name = f"default/web-{suffix}"
        history.put("pods", name, by="replicas", generate_name="web-", metadata=metadata, spec={"image": image})
        if role:
            metadata = {"labels": {**metadata["labels"], "role": role}}
            history.put("pods", name, generate_name="web-", metadata=metadata, spec={"image": image})

    run = History(CRASH)
    build_pod(run, "bbbbb", image="b")
    assert judge(learn(build_pod), run.result) == []
    labelled = learn(lambda history: build_pod(history, role="primary"))
    assert oracles_of(labelled, run) == ["end-state"]
    run = History(CRASH)
    build_pod(run, "bbbbb", role="primary")
    assert judge(labelled, run.result) == []


def test_present_resource_version_of_another_object_is_no_difference() -> None:
    def build_pair(history: History, *, padding: int = 0, is_old: bool = False) -> None:
        for number in range(padding):
            history.put("configmaps", "default/a", data={"number": str(number)})
        history.put("configmaps", "default/a", data={"done": "yes"})
        version = int(history.result.objects["configmaps"]["default/a"]["metadata"]["resourceVersion"])
        history.put("services", BOOKS, metadata={"annotations": {"config": str(version - is_old)}})

    reference = learn(build_pair)
    current, old = History(CRASH), History(CRASH)
    build_pair(current, padding=3)
    build_pair(old, padding=3, is_old=True)
    assert judge(reference, current.result) == []
    assert oracles_of(reference, old) == ["end-state"]


def test_run_that_ends_before_its_caches_catch_up_is_no_finding() -> None:
    run = History(Restart(1, view=3))
    run.result.problem = "configmaps default/a was written 143 times"
    assert judge(learn(build), run.result) == []
    run.result.entries.append(TraceEntry(0.0, "fault", "the caches catch up", 1))
    assert oracles_of(learn(build), run) == ["not-converging"]


def test_values_may_change_places_if_the_order_of_keys_does() -> None:
    def build_ports(history: History, *ports: int) -> None:
        for name, port in zip("ab", ports or (1, 2), strict=True):
            history.put(SHOPS, f"default/{name}", by="user", status={"port": port})
        taken = {name: str(port) for name, port in zip("ab", ports or (1, 2), strict=True)}
        history.put("configmaps", "default/ports", data=taken)

    for fault, ports, expected in (
        (OtherKeyOrder(), (2, 1), 0),
        (Absence(1, 2), (2, 1), 0),
        (OtherKeyOrder(), (1, 1), 2),
        (CRASH, (2, 1), 0),
    ):
        run = History(fault)
        build_ports(run, *ports)
        assert oracles_of(learn(build_ports), run) == ["end-state"] * expected
    again = History(CRASH)
    build_ports(again)
    build_ports(again, 2, 1)
    assert oracles_of(learn(build_ports), again) == ["end-state"] * 3


def test_schedule_is_part_of_the_finding() -> None:
    run = History(CRASH)
    build_shop(run, replicas=2)
    [finding] = judge(learn(build), run.result)
    assert finding.schedule == Schedule(0, (CRASH,))
    assert finding.run is run.result
    assert finding.subject == "deployments.apps"

"""Findings that belong together."""

from __future__ import annotations

from masthead.testing import Finding
from masthead.testing._explore.defects import Defects
from masthead.testing._explore.faults import Answer, Crash, Edit, PlannedFault, Restart
from masthead.testing._explore.schedule import Schedule


def make_finding(*faults: PlannedFault, oracle: str = "end-state", subject: str = "secrets") -> Finding:
    return Finding(oracle, "something is wrong", Schedule(0, faults), subject=subject)


def test_one_rule_at_one_object_after_alike_faults_is_one_defect() -> None:
    defects = Defects()
    defects.add(make_finding(Crash(1)))
    defects.add(make_finding(Answer(1, "lost")))
    defects.add(make_finding(Crash(2, "before")))

    assert [finding.count for finding in defects] == [3]


def test_other_rules_objects_and_faults_are_other_defects() -> None:
    defects = Defects()
    defects.add(make_finding(Crash(1)))
    defects.add(make_finding(Crash(1), oracle="orphans"))
    defects.add(make_finding(Crash(1), subject="configmaps"))
    defects.add(make_finding(Restart(1, view=7)))

    assert len(defects) == 4


def test_a_pair_belongs_to_the_defect_of_either_fault() -> None:
    defects = Defects()
    defects.add(make_finding(Crash(1)))

    assert defects.count(make_finding(Edit(1), Crash(2)))
    assert not defects.count(make_finding(Edit(1)))


def test_what_happens_without_faults_is_not_found_again() -> None:
    defects = Defects()
    known = make_finding(oracle="exceptions")
    defects.add_reference([known])

    assert defects.relevant([make_finding(Crash(1), oracle="exceptions")]) is None
    other = make_finding(Crash(1))
    assert defects.relevant([make_finding(Crash(1), oracle="exceptions"), other]) is other

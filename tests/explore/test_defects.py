"""Findings that belong together."""

from __future__ import annotations

from masthead.testing import Finding
from masthead.testing._explore.defects import Defects
from masthead.testing._explore.faults import Answer, Crash, Edit, PlannedFault, Restart
from masthead.testing._explore.schedule import Schedule


def make_finding(*faults: PlannedFault, oracle: str = "end-state", subject: str = "secrets") -> Finding:
    return Finding(oracle, "something is wrong", Schedule(0, faults), subject=subject)


def test_one_rule_at_one_object_is_one_defect() -> None:
    defects = Defects()
    defects.add(make_finding(Crash(1)))
    defects.add(make_finding(Answer(1, "lost")))
    defects.add(make_finding(Crash(2, "before")))

    assert [(finding.count, finding.details) for finding in defects] == [(3, [])]


def test_other_rules_and_objects_are_other_defects() -> None:
    defects = Defects()
    defects.add(make_finding(Crash(1)))
    defects.add(make_finding(Crash(1), oracle="orphans"))
    defects.add(make_finding(Crash(1), subject="configmaps"))

    assert len(defects) == 3


def test_a_defect_names_the_first_schedule_with_other_faults() -> None:
    defects = Defects()
    stale = make_finding(Restart(1, view=7))
    for finding in (make_finding(Crash(1)), stale, make_finding(Restart(2, view=7)), make_finding(Edit(1), Crash(2))):
        defects.add(finding)

    (defect,) = defects
    assert defect.schedule.faults == (Crash(1),)
    assert defect.count == 4
    assert [detail.startswith("also with: ") for detail in defect.details] == [True, False, True, False]
    assert defect.details[1].strip() == str(stale.schedule)


def test_what_happens_without_faults_is_not_found_again() -> None:
    defects = Defects()
    known = make_finding(oracle="exceptions")
    defects.add_reference([known])

    assert defects.relevant([make_finding(Crash(1), oracle="exceptions")]) is None
    other = make_finding(Crash(1))
    assert defects.relevant([make_finding(Crash(1), oracle="exceptions"), other]) is other

"""Figures of kinds: what is counted, and in which order it is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.document import as_text
from masthead._cli.stats import ORDERS, KindStats, as_data, stats_lines

PODS = KindStats("pods", 10, 20480, 5, 10240)
MAPS = KindStats("configmaps", 100, 1000)
NONE = KindStats("secrets", note="forbidden")
EMPTY = KindStats("jobs.batch")


def shown(seconds: float = 10.0, order: str = "changes", most: int | None = None) -> list[str]:
    lines = stats_lines([MAPS, NONE, EMPTY, PODS], seconds, order=order, most=most)
    return as_text(lines, color=False).splitlines()


def test_kinds_are_shown_with_rates_and_a_sum() -> None:
    head, pods, maps, secrets, total = shown()

    assert head.split() == ["KIND", "OBJECTS", "SIZE", "MEAN", "CHANGES/S", "BYTES/S", "NOTE"]
    assert pods.split() == ["pods", "10", "20", "KiB", "2.0", "KiB", "0.5", "1.0", "KiB"]
    assert maps.split() == ["configmaps", "100", "1000", "B", "10", "B", "0"]
    assert secrets.split()[-1] == "forbidden"
    assert total.split()[:5] == ["3", "kinds", "110", "21", "KiB"]


def test_without_a_time_there_are_no_rates() -> None:
    assert "CHANGES/S" not in shown(0)[0]


def test_kinds_are_sorted_and_cut() -> None:
    assert [line.split()[0] for line in shown(order="objects")[1:3]] == ["configmaps", "pods"]
    assert [line.split()[0] for line in shown(order="name")[1:4]] == ["configmaps", "pods", "secrets"]
    assert shown(most=1)[-1] == "... and 2 more kinds"
    assert shown(most=2)[-1] == "... and 1 more kind"
    assert "110" in shown(most=1)[2]


@given(st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), st.integers(0, 10**6)), max_size=50))
def test_figures_never_fall_below_zero(events: list[tuple[str, int]]) -> None:
    found = KindStats("pods", 2, 500)
    for event, size in events:
        found.take(event, size)

    assert found.changes == len(events)
    assert found.changed_bytes == sum(size for _, size in events)
    assert found.objects >= 0
    assert found.size >= 0
    for order in ORDERS:
        assert stats_lines([found], 1.0, order=order)


def test_programs_get_the_same() -> None:
    data = as_data([PODS, NONE], 10.0)

    assert data == {
        "seconds": 10.0,
        "kinds": [
            {"kind": "pods", "objects": 10, "bytes": 20480, "changes": 5, "changedBytes": 10240},
            {
                "kind": "secrets",
                "objects": 0,
                "bytes": 0,
                "changes": 0,
                "changedBytes": 0,
                "note": "forbidden",
            },
        ],
    }

"""Which rows of a live table there are, what is highlighted, and what fits on a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.unit.cli.healths import health

from masthead import Unstructured
from masthead._cli.live_objects import RowChange
from masthead._cli.live_rows import LiveRows, columns_that_fit
from masthead._cli.live_table import Frame, render_frame, status_line
from masthead._printers.printer import Column
from masthead._printers.table import PrintedRow

COLUMNS = (Column("Name", format="name"), Column("Status"), Column("Node", priority=1), Column("Age"))


def obj(name: str) -> Unstructured:
    return Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}})


def row(name: str, status: str = "Running") -> PrintedRow:
    return PrintedRow((name, status, "node-1", "3s"), obj(name))


def change(type_: str, name: str) -> RowChange:
    return RowChange(type_, obj(name))  # type: ignore[arg-type]


REFUSED = "ConnectError: 10.0.0.1 refused\nthe connection"


def test_rows_come_change_go_and_fade() -> None:
    rows = LiveRows()
    rows.begin([row("b"), row("c")])
    rows.apply(change("added", "a"), row("a"), 10.0)
    rows.apply(change("changed", "b"), row("b"), 10.0)
    rows.apply(change("deleted", "c"), row("c"), 10.0)

    states = {each.row.name: each.state(11.0) for each in rows.visible(11.0)}
    assert states == {"a": "new", "b": "changed", "c": "gone"}
    assert (len(rows), rows.changes) == (2, 3)
    later = {each.row.name: each.state(20.0) for each in rows.visible(20.0)}
    assert later == {"a": "", "b": ""}


def test_an_object_that_comes_back_is_new() -> None:
    rows = LiveRows()
    rows.begin([row("a")])
    rows.apply(change("deleted", "a"), row("a"), 1.0)
    rows.apply(change("added", "a"), row("a"), 2.0)

    assert [each.state(2.0) for each in rows.visible(2.0)] == ["new"]


@given(
    st.lists(st.tuples(st.sampled_from(["NODE", "STATUS", "AGE", "IP"]), st.integers(1, 30)), max_size=6),
    st.integers(1, 120),
)
def test_the_name_is_always_there_and_what_is_chosen_fits(more: list[tuple[str, int]], width: int) -> None:
    heads, widths = ["NAME", *(name for name, _ in more)], [10, *(size for _, size in more)]
    chosen = columns_that_fit(heads, widths, width)

    assert 0 in chosen
    assert chosen == sorted(set(chosen))
    assert len(chosen) == 1 or sum(widths[at] for at in chosen) + 2 * (len(chosen) - 1) <= width


def shown(*, width: int, height: int, count: int, failures: int = 0) -> list[str]:
    rows = LiveRows()
    rows.begin([row(f"web-{number:03}") for number in range(count)])
    frame = Frame(
        COLUMNS,
        [(each, each.row) for each in rows.visible(0.0)],
        0.0,
        status_line("pods in shop", len(rows), rows.changes, health(REFUSED if failures else "", failures), width),
        namespaces=True,
    )
    console = Console(width=width, height=height, force_terminal=False)
    with console.capture() as captured:
        console.print(render_frame(frame, width=width, height=height))
    return captured.get().splitlines()


def test_a_frame_fits_the_terminal() -> None:
    for width, height in ((100, 24), (40, 8), (20, 5), (10, 3)):
        lines = shown(width=width, height=height, count=50)
        assert len(lines) <= max(height - 1, 4)
        assert max(map(len, lines)) <= width
    assert shown(width=100, height=8, count=50)[-2] == "... and 46 more"


def test_the_status_line_says_how_the_connection_is() -> None:
    assert shown(width=100, height=24, count=1)[-1] == "watching pods in shop (1 object, 0 changes); Ctrl-C ends"
    lost = shown(width=100, height=24, count=1, failures=3)[-1]
    assert lost == "reconnecting pods in shop (1 object, 0 changes): 10.0.0.1 refused the connection"

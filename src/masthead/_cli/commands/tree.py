"""``masthead tree``: owners and dependents of an object."""

from __future__ import annotations

import asyncio
import itertools
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NoReturn

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import console, has_color, is_live, live_display, say, write
from masthead._errors.base import counted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    import masthead
    from masthead._cli.document import Line
    from masthead._cli.owner_tree_search import FamilySearch
    from masthead._cli.references import Selected
    from masthead._cli.shared_options import State
    from masthead._discovery.model import ServedResource

__all__ = ["command"]

_TICK: Final = 0.5
"""Seconds between two frames, which update ages and changes."""
_AT_ONCE: Final = 50
"""How many members that have changed are looked at for one frame."""
_BELOW: Final = 4
"""Lines other than those of the tree: its heading, the number of hidden lines, the status, and the cursor's."""


@cluster_command("tree")
@click.argument("references", nargs=-1, metavar="KIND NAME", shell_complete=complete_references)
@click.option("-w", "--watch", is_flag=True, help="follow it live, until Ctrl-C")
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=500,
    show_default=True,
    help="how many lines are shown",
)
@click.pass_obj
def command(state: State, references: tuple[str, ...], watch: bool, limit: int) -> None:
    """Show the owners of an object and all its dependents.

    Every kind that can be listed is searched for ownerReferences, by its metadata only.

    \b
    masthead tree deploy web
    masthead tree node/node-1 -w
    """
    from masthead._cli.references import parse_references, resolve

    parsed = parse_references(references)
    with state.connect() as client:
        chosen = resolve(client, state, parsed)
        if len(chosen) != 1 or len(chosen[0].names) != 1:
            raise CommandError("name one object: KIND NAME, or KIND/NAME", code=ExitCode.USAGE)
        # Checked before the long search, with the blocking client that `missing` needs for its hints.
        _refuse_missing(client, chosen[0])
    asyncio.run(_Tree(state, chosen[0], limit).run(is_followed=watch))


def _refuse_missing(client: masthead.Client, selected: Selected) -> None:
    from masthead._cli.references import missing
    from masthead.errors import NotFoundError

    try:
        client.metadata(selected.resource.gvr, namespace=selected.namespace).get(selected.names[0])
    except NotFoundError:
        raise missing(client, selected, selected.names[0]) from None


class _Tree:
    """One run of the command."""

    def __init__(self, state: State, selected: Selected, limit: int) -> None:
        self._state = state
        self._selected = selected
        self._limit = limit

    async def run(self, *, is_followed: bool) -> None:
        from masthead._cli.owner_tree_search import FamilySearch

        selected = self._selected
        # All kinds are searched, the deprecated ones as well.
        async with self._state.connect_async(prints_warnings=False) as client:
            search = FamilySearch(client, selected.resource, selected.namespace, selected.names[0])
            await search.begin()
            kinds = await self._search(search)
            if not is_followed:
                write(self._text(search))
                self._say_problems(search)
                return
            async with search.following(kinds):
                if is_live():
                    await self._draw(search)
                await self._print(search)

    async def _search(self, search: FamilySearch) -> list[ServedResource]:
        from masthead._cli.progress import Work

        kinds = await search.kinds()
        with Work("searching", no_color=self._state.no_color, total=len(kinds)) as work:
            await search.search(kinds, lambda done: work.advance(done.name))
            # Of huge trees, only the visible members are looked at.
            shown = itertools.islice(search.family.leaves(), self._limit)
            await search.look(leaf.member for leaf in shown)
        return kinds

    def _lines(self, search: FamilySearch, most: int) -> list[Line]:
        from masthead._cli.document import line, table
        from masthead._cli.owner_tree import ASCII_LINES, HEAD, LINES, tree_rows

        leaves = list(search.family.leaves())
        shown = leaves[: min(most, self._limit)]
        branches = LINES if _can_draw_lines() else ASCII_LINES
        rows = tree_rows(search.family, shown, search.vitals, datetime.now(UTC), lines=branches)
        hidden = len(leaves) - len(shown)
        more = [line((f"... and {hidden} more", "dim"))] if hidden else []
        return [*table(HEAD, rows, indent=0), *more]

    def _text(self, search: FamilySearch) -> str:
        from masthead._cli.document import as_text

        return as_text(self._lines(search, self._limit), color=has_color(no_color=self._state.no_color))

    def _say_problems(self, search: FamilySearch) -> None:
        for kind, problem in sorted(search.problems.items()):
            say(f"{kind} could not be searched: {problem}")
        if search.family.is_full:
            say("there are more objects with owners than are remembered: dependents may be missing")

    async def _draw(self, search: FamilySearch) -> NoReturn:
        """Draw the tree again and again; only an interrupt ends it."""
        screen = console(no_color=self._state.no_color)
        with live_display(screen) as live:
            while True:
                live.update(self.frame(search, screen), refresh=True)
                await asyncio.sleep(_TICK)
                await search.catch_up(_AT_ONCE)

    def frame(self, search: FamilySearch, screen: Console) -> RenderableType:
        """What a terminal shows now."""
        from rich.console import Group

        from masthead._cli.document import as_rich, line

        members = sum(1 for _ in search.family.leaves())
        counts = (
            counted(members, "object"),
            counted(search.changes, "change"),
            counted(search.watches, "kind"),
        )
        shown = ", ".join(counts)
        if error := search.connection_error:
            status = line(("reconnecting", "yellow"), (f" ({shown}): {error}", "dim"))
        else:
            status = line(("watching", "green"), (f" the tree ({shown}); Ctrl-C ends", "dim"))
        lines = self._lines(search, max(1, screen.height - _BELOW))
        return Group(*as_rich([*lines, status]))

    async def _print(self, search: FamilySearch) -> NoReturn:
        """Print the tree, and again whenever it has changed."""
        from masthead._cli.connection import report_connection

        shown, error = -1, ""
        while True:
            if search.changes != shown:
                write(self._text(search) if shown < 0 else f"\n{self._text(search)}")
                shown = search.changes
            error = report_connection(search.connection_error, error)
            await asyncio.sleep(_TICK)
            await search.catch_up(_AT_ONCE)


def _can_draw_lines() -> bool:
    """Whether the output can have the characters of boxes."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in {"utf8", "utf16", "utf32"}

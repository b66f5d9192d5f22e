"""OpenAPI of the embedded server: the first request for each form, and whether other requests wait for it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Row, Table, Target
from benchmarks.harness.wire import Connection
from benchmarks.server.pings import Pings

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from benchmarks.harness.measure import Figures
    from benchmarks.harness.wire import Address

    Start = Callable[[], AbstractContextManager[tuple[Address, int]]]

FIRST: Final = 1_000.0
"""Milliseconds until the first index has come, for which all documents are made."""
STALL: Final = 100.0
"""Milliseconds that another request waits at most meanwhile."""
INDEX: Final = "/openapi/v3"
SWAGGER: Final = "/openapi/v2"


def openapi_table(start: Start, repeat: int) -> Table:
    """Measure requests to a server that has made no document yet.

    Args:
        start: Runs a server for the length of a block.
        repeat: Rounds, each with a server of its own.
    """
    best = measure.best_of(repeat, {"openapi": lambda: _requests(start)})["openapi"]
    rows = (
        _row("index", "/openapi/v3, for which every document is made", best["index"], FIRST),
        _row("again", "  the same once more", best["again"]),
        _row("documents", "  every document that it lists", best["documents"]),
        _row("swagger", "/openapi/v2 as JSON", best["swagger"]),
        _row("stall", "the longest GET /version meanwhile", best["stall"], STALL),
    )
    title = f"OpenAPI of a server that has just started: minimum of {repeat}"
    return Table("openapi", title, (Column("ms", "wall ms"),), rows)


def _row(name: str, title: str, spent: float | None, limit: float | None = None) -> Row:
    target = None if spent is None or limit is None else Target(f"openapi_{name}_ms", spent, limit)
    return Row(name, title, (spent,), target)


def _requests(start: Start) -> Figures:
    with start() as (address, _), Connection(address) as connection:
        connection.send(address.request("GET", "/version"))
        pings = Pings(address)
        spent: Figures = {}

        def timed(name: str, *paths: str) -> bytes:
            began, body = time.perf_counter(), b""
            for path in paths:
                body = connection.send(address.request("GET", path))
            spent[name] = (time.perf_counter() - began) * 1e3
            return body

        with pings:
            listed = json.loads(timed("index", INDEX))["paths"]
            timed("again", INDEX)
            timed("documents", *(each["serverRelativeURL"] for each in listed.values()))
            timed("swagger", SWAGGER)
        return {**spent, "stall": pings.longest * 1e3}

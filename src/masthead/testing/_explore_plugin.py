"""Explorations in pytest: the mark and the fixture, with the options of the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from masthead.testing import explore

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.testing import Report

__all__ = ["explore_marked", "explorer_for"]

_MARK: Final = "explore"
_XDIST: Final = "PYTEST_XDIST_WORKER"
"""The variable of the workers of pytest-xdist."""


def explore_marked(item: pytest.Item) -> Report:
    """Explore the operator that the mark of a test names.

    Raises:
        pytest.UsageError: If there is no mark, or it lacks operator and workload.
    """
    mark = item.get_closest_marker(_MARK)
    if mark is None or len(mark.args) != 2:
        raise pytest.UsageError(
            "the mark explore names operator and workload: @pytest.mark.explore(make_app, workload)"
        )
    return explorer_for(item)(*mark.args, **mark.kwargs)


def explorer_for(item: pytest.Item) -> Callable[..., Report]:
    """Return `masthead.testing.explore` with the options of the command line."""

    def run(*arguments: Any, **options: Any) -> Report:  # noqa: ANN401 - as explore has them
        config = item.config
        for name in ("budget", "seed"):
            value = config.getoption(f"--explore-{name}")
            if value is not None:
                options[name] = value
        # The workers of pytest-xdist share the cores already.
        if _XDIST in os.environ:
            options.setdefault("processes", 1)
        report = explore(*arguments, **options)
        folder = config.getoption("--explore-html")
        if folder:
            _write_page(report, Path(folder), item.nodeid)
        return report

    return run


def _write_page(report: Report, folder: Path, test: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", test).strip("-")
    (folder / f"{name[-200:]}.html").write_text(report.to_html(), encoding="utf-8")

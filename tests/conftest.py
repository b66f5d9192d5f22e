"""Settings for every test."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

# The same examples every time, so that builds are deterministic. HYPOTHESIS_PROFILE=random generates new ones.
# The time to draw examples depends on the machine, not on the code.
SLOW = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, suppress_health_check=SLOW, deadline=None)
settings.register_profile("random", suppress_health_check=SLOW, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Programs inherit what is ignored: without this, those that tests interrupt would go on where the tests themselves were
# started in the background, or by nohup.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


ROOT = Path(__file__).parent
QUICK = tuple(
    ROOT / name for name in ("cli", "conformance/test_embedded.py", "integration", "isolated", "server", "unit")
)
"""The tests of `make test`, except for those with the mark `slow` or `real`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that divides the tests between `make test` and `make test-rest`."""
    parser.addoption("--tier", choices=["quick", "rest"], help="run the tests of `make test`, or all others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of the other tier."""
    tier = config.getoption("--tier")
    if tier is None:
        return
    selected = [item for item in items if is_quick(item) == (tier == "quick")]
    config.hook.pytest_deselected(items=[item for item in items if is_quick(item) != (tier == "quick")])
    items[:] = selected


def is_quick(item: pytest.Item) -> bool:
    """Whether a test belongs to `make test`."""
    in_folder = any(item.path.is_relative_to(path) for path in QUICK)
    return in_folder and not any(item.get_closest_marker(name) for name in ("slow", "real"))

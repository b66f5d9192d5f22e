"""The servers that cases run against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Targets, embedded_target, real_target_with
from tests.real_server import ASSETS, missing_programs

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def embedded() -> Iterator[Targets]:
    """The server of this package."""
    with Targets(embedded_target) as targets:
        yield targets


@pytest.fixture(scope="session")
def real() -> Iterator[Targets]:
    """Real servers for these tests alone: what others define there would show in their discovery."""
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with Targets(real_target_with) as targets:
        yield targets

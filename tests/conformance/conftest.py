"""The servers that cases run against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real_server import ASSETS, missing_programs, real_server_in

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def embedded() -> Iterator[Target]:
    """The server of this package."""
    with embedded_target() as target:
        yield target


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A real server for these tests alone: what others define there would show in its discovery."""
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with real_server_in(tmp_path_factory.mktemp("real-server")) as server:
        yield real_target(server)

"""The real server of the tests in this directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.real_server import ASSETS, RealServer, missing_programs, real_server_in

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A new server for this run."""
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with real_server_in(tmp_path_factory.mktemp("real-server")) as server:
        yield server

"""The real server of the tests in this directory, alone or beside the embedded one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.real.both_servers import Access, BothServers, embedded_access, real_access
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


@pytest.fixture(scope="session")
def accesses(real_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Access, Access]]:
    """The real server and an embedded one."""
    with embedded_access(tmp_path_factory.mktemp("embedded")) as embedded:
        yield real_access(real_server, tmp_path_factory.mktemp("real")), embedded


@pytest.fixture
def both(accesses: tuple[Access, Access]) -> BothServers:
    """A new namespace on both servers."""
    return BothServers(*accesses, f"namespace-{next(_numbers)}")


_numbers = itertools.count()

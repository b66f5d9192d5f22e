"""``masthead crds --install`` and ``masthead run`` with a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.examples.website_process import live_in_a_process
from tests.real.both_servers import real_access

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = pytest.mark.real


def test_masthead_run_reconciles_until_it_is_terminated(real_server: RealServer, tmp_path: Path) -> None:
    live_in_a_process(real_access(real_server, tmp_path).kubeconfig)

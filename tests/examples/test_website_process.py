"""The Website operator runs as a process of its own, with an embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.examples.website_process import live_in_a_process

import masthead

if TYPE_CHECKING:
    from pathlib import Path


def test_masthead_run_reconciles_until_it_is_terminated(tmp_path: Path) -> None:
    with masthead.server.run() as server:
        live_in_a_process(server.write_kubeconfig(tmp_path / "kubeconfig"))

"""``masthead explore`` at a terminal: its progress, and its end by Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

termios = pytest.importorskip("termios")

from tests.cli.terminal import Terminal, plain  # noqa: E402 - needs terminals
from tests.cli.test_processes import CTRL_C  # noqa: E402 - needs terminals

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PROGRAM = """
import masthead
from masthead.api.core.v1 import ConfigMap, Secret

app = masthead.Manager("accounts")

@app.controller(ConfigMap, owns=[Secret], label_selector="account=yes")
async def reconcile(ctx, account):
    await ctx.apply(Secret.new(account.metadata.name))

async def workload(env):
    maps = env.client.core_v1.config_maps("default")
    for name in ("shop", "blog", "wiki"):
        await maps.create(ConfigMap.new(name, labels={"account": "yes"}))
        await env.wait_for_idle()
"""


def test_ctrl_c_ends_an_exploration_with_its_report(tmp_path: Path, environ: dict[str, str]) -> None:
    program = tmp_path / "accounts.py"
    program.write_text(PROGRAM, "utf-8")
    options = ["--budget", "20m", "--processes", "1"]
    arguments = ["explore", f"{program}:app", "--workload", f"{program}:workload", *options]
    with Terminal(arguments, environ) as screen:
        screen.expect("fault points, 0 findings")
        screen.press(CTRL_C)
        assert screen.finish() == 130
    assert "no finding in " in plain(screen.output)

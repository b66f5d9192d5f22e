"""The repair of a lost response in the manual."""

from __future__ import annotations

import contextlib
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import set_controller
from masthead.testing import Environment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead.aio import ReconcileContext

    Repair: TypeAlias = Callable[[ReconcileContext[Any], ConfigMap], Awaitable[None]]

MANUAL = Path(__file__).parents[3] / "docs" / "operators.md"


def read_repair() -> Repair:
    section = MANUAL.read_text("utf-8").partition("### Lost response")[2]
    repair = re.findall(r"```py\n(.*?)```", section, re.DOTALL)[1]
    names: dict[str, Any] = {
        "Secret": Secret,
        "contextlib": contextlib,
        "make_key": lambda: {"key": b"1"},
        "masthead": masthead,
        "set_controller": set_controller,
    }
    exec(f"async def repair(ctx, site):\n{textwrap.indent(repair, '    ')}", names)
    repair_function: Repair = names["repair"]
    return repair_function


@pytest.mark.asyncio
async def test_the_repair_survives_a_lost_response() -> None:
    app = masthead.Manager("keys")

    @app.controller(ConfigMap, owns=[Secret])
    async def reconcile(ctx: ReconcileContext[ConfigMap], site: ConfigMap) -> None:
        if site.metadata.name == "shop":
            await read_repair()(ctx, site)

    async with Environment(app) as env:
        lost = env.replicas[0].faults.lose_response(resource="secrets", verb="create")
        await env.client.core_v1.config_maps("default").create(ConfigMap.new("shop"))
        await env.wait_for_idle()
        secrets = await env.client.core_v1.secrets("default").list()
        assert [secret.metadata.name for secret in secrets] == ["shop-key"]
        assert lost.hits == 1

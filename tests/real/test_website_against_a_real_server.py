"""The Website operator of examples/website lives on a real server as on the embedded one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.website.website import app
from tests.examples.website_life import live

import masthead
from masthead.testing import Environment

if TYPE_CHECKING:
    from tests.real_server import RealServer

pytestmark = pytest.mark.real


async def test_a_site_lives_on_a_real_server_with_the_permissions_of_its_manifests(real_server: RealServer) -> None:
    config = masthead.Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    async with Environment(app, config=config, rbac=True) as env:
        await live(env)
        assert env.missing_permissions == []

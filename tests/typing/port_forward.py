"""What entering a port-forward gives, by what is asked for."""

from __future__ import annotations

import socket
from typing import assert_type

import masthead
import masthead.aio


async def awaited(client: masthead.aio.Client) -> None:
    pods = client.core_v1.pods("default")
    async with pods.port_forward("web", 8080) as port:
        assert_type(port, int)
    async with pods.port_forward("web", ":http", reconnect=True) as port:
        assert_type(port, int)
    async with pods.port_forward("web", 8080, "15432:5432", 9090) as ports:
        assert_type(ports, tuple[int, ...])
    async with pods.port_forward("web", 8080, unix_path="/run/web.sock") as path:
        assert_type(path, str)
    async with client.core_v1.services("default").port_forward("web", 80, local_port=8080) as port:
        assert_type(port, int)
    async with client.apps_v1.deployments("default").connect("web", 80) as connection:
        assert_type(connection, masthead.aio.streams.PodConnection)
        assert_type(await connection.read(), bytes)
    assert_type(await client.dynamic("v1", "pods", namespace="default").open_socket("web", 80), socket.socket)


def blocking(client: masthead.Client) -> None:
    pods = client.core_v1.pods("default")
    with pods.port_forward("web", 8080) as port:
        assert_type(port, int)
    with pods.port_forward("web", 8080, 9090) as ports:
        assert_type(ports, tuple[int, ...])
    with pods.port_forward("web", 8080, unix_path="/run/web.sock") as path:
        assert_type(path, str)
    with pods.connect("web", 80) as connection:
        assert_type(connection.read(), bytes)

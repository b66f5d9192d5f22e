"""The clients that the request benchmark measures: how each is opened, and how it performs the common operations.

Each is used as its own documentation shows it, with its own types. Nothing is imported before it is opened, and
nothing of ours but for our own clients: the peers may live in another interpreter.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.contenders import Contender
from benchmarks.harness.wire import Address, Connection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

NAMESPACE: Final = "default"
"""Where the small object is."""
NURSERY: Final = "kube-public"
"""Where objects are created: elsewhere, because some clients look for one by going through a namespace."""
SMALL: Final = "small"
"""The name of the small object, a ConfigMap."""
DATA: Final = {"color": "blue", "size": "large"}
"""What it holds, and what those hold that are created."""
AT_ONCE: Final = 16
"""How many calls are under way at once, where more than one is."""

OFFICIAL: Final = "kubernetes"
OURS: Final = "masthead_aio"
OURS_BLOCKING: Final = "masthead"
OURS_UVLOOP: Final = "masthead_aio_uvloop"
LIGHTKUBE: Final = "lightkube"


def namespace_of(count: int) -> str:
    """The namespace that has so many pods, and nothing else."""
    return f"pods-{count}"


@dataclasses.dataclass(frozen=True)
class Calls:
    """What a client that blocks does.

    Attributes:
        get: Reads the small object.
        create: Creates one of the given name.
        pods: Reads all pods of a namespace.
    """

    get: Callable[[], object]
    create: Callable[[str], object]
    pods: Callable[[str], Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class AsyncCalls:
    """What an async client does; the attributes are those of `Calls`."""

    get: Callable[[], Awaitable[object]]
    create: Callable[[str], Awaitable[object]]
    pods: Callable[[str], Awaitable[Sequence[Any]]]


# -- Ours --------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _masthead_aio(kubeconfig: str) -> AsyncGenerator[AsyncCalls]:
    from masthead.aio import Client
    from masthead.api.core.v1 import ConfigMap, Pod

    async with Client(kubeconfig=kubeconfig) as client:
        maps, created = client.core_v1.config_maps(NAMESPACE), client.core_v1.config_maps(NURSERY)

        async def list_pods(namespace: str) -> Sequence[Pod]:
            return (await client.core_v1.pods(namespace).list()).items

        yield AsyncCalls(
            lambda: maps.get(SMALL),
            lambda name: created.create(ConfigMap.new(name, data=DATA)),
            list_pods,
        )


@contextlib.contextmanager
def _masthead(kubeconfig: str) -> Generator[Calls]:
    from masthead import Client
    from masthead.api.core.v1 import ConfigMap

    with Client(kubeconfig=kubeconfig) as client:
        maps, created = client.core_v1.config_maps(NAMESPACE), client.core_v1.config_maps(NURSERY)
        yield Calls(
            lambda: maps.get(SMALL),
            lambda name: created.create(ConfigMap.new(name, data=DATA)),
            lambda namespace: client.core_v1.pods(namespace).list().items,
        )


# -- Next to nothing ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _bare(kubeconfig: str) -> Generator[Calls]:
    text = Path(kubeconfig).read_text(encoding="utf-8")
    [url] = re.findall(r"server: (\S+)", text)
    address = Address(url)
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{SMALL}"
    idle: list[Connection] = []
    with contextlib.ExitStack() as connections:

        def send(request: bytes) -> object:
            try:
                connection = idle.pop()
            except IndexError:
                connection = connections.enter_context(Connection(address))
            response = connection.send(request)
            idle.append(connection)
            return response

        def create(name: str) -> object:
            body = json.dumps({"metadata": {"name": name}, "data": DATA}).encode()
            return send(address.request("POST", f"/api/v1/namespaces/{NURSERY}/configmaps", body))

        yield Calls(lambda: send(address.request("GET", path)), create, lambda _: [])


# -- Peers -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _kubernetes(kubeconfig: str) -> Generator[Calls]:
    client: Any = importlib.import_module("kubernetes.client")
    config: Any = importlib.import_module("kubernetes.config")
    chosen = client.Configuration()
    chosen.connection_pool_maxsize = AT_ONCE  # by default, five for each core, and the rest is thrown away
    with config.new_client_from_config(kubeconfig, client_configuration=chosen) as connected:
        core = client.CoreV1Api(connected)

        def create(name: str) -> object:
            body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=DATA)
            return core.create_namespaced_config_map(NURSERY, body)

        yield Calls(
            lambda: core.read_namespaced_config_map(SMALL, NAMESPACE),
            create,
            lambda namespace: core.list_namespaced_pod(namespace).items,
        )


@contextlib.asynccontextmanager
async def _kubernetes_asyncio(kubeconfig: str) -> AsyncGenerator[AsyncCalls]:
    client: Any = importlib.import_module("kubernetes_asyncio.client")
    config: Any = importlib.import_module("kubernetes_asyncio.config")
    async with await config.new_client_from_config(kubeconfig) as connected:
        core = client.CoreV1Api(connected)

        def create(name: str) -> Awaitable[object]:
            body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=DATA)
            created: Awaitable[object] = core.create_namespaced_config_map(NURSERY, body)
            return created

        async def list_pods(namespace: str) -> Sequence[Any]:
            found: Sequence[Any] = (await core.list_namespaced_pod(namespace)).items
            return found

        yield AsyncCalls(lambda: core.read_namespaced_config_map(SMALL, NAMESPACE), create, list_pods)


@contextlib.contextmanager
def _lightkube(kubeconfig: str) -> Generator[Calls]:
    lightkube: Any = importlib.import_module("lightkube")
    core: Any = importlib.import_module("lightkube.resources.core_v1")
    client = lightkube.Client(config=lightkube.KubeConfig.from_file(kubeconfig), namespace=NAMESPACE)
    yield Calls(
        lambda: client.get(core.ConfigMap, SMALL),
        lambda name: client.create(_lightkube_map(name)),
        lambda namespace: list(client.list(core.Pod, namespace=namespace)),
    )


@contextlib.asynccontextmanager
async def _lightkube_async(kubeconfig: str) -> AsyncGenerator[AsyncCalls]:
    lightkube: Any = importlib.import_module("lightkube")
    core: Any = importlib.import_module("lightkube.resources.core_v1")
    client = lightkube.AsyncClient(config=lightkube.KubeConfig.from_file(kubeconfig), namespace=NAMESPACE)

    async def list_pods(namespace: str) -> Sequence[Any]:
        return [pod async for pod in client.list(core.Pod, namespace=namespace)]

    yield AsyncCalls(
        lambda: client.get(core.ConfigMap, SMALL),
        lambda name: client.create(_lightkube_map(name)),
        list_pods,
    )
    await client.close()


def _lightkube_map(name: str) -> object:
    core: Any = importlib.import_module("lightkube.resources.core_v1")
    meta: Any = importlib.import_module("lightkube.models.meta_v1")
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=NURSERY), data=DATA)


@contextlib.asynccontextmanager
async def _kr8s(kubeconfig: str) -> AsyncGenerator[AsyncCalls]:
    kr8s: Any = importlib.import_module("kr8s.asyncio")
    objects: Any = importlib.import_module("kr8s.asyncio.objects")
    api = await kr8s.api(kubeconfig=kubeconfig)

    def create(name: str) -> Awaitable[object]:
        body = {"metadata": {"name": name, "namespace": NURSERY}, "data": DATA}
        created: Awaitable[object] = objects.ConfigMap(body, api=api).create()
        return created

    async def list_pods(namespace: str) -> Sequence[Any]:
        return [pod async for pod in api.get("pods", namespace=namespace)]

    yield AsyncCalls(lambda: objects.ConfigMap.get(SMALL, namespace=NAMESPACE, api=api), create, list_pods)


# -- All of them -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Client(Contender):
    """A client to measure; it reads no list at all if its `most` is 0.

    Attributes:
        open: Connects it, given the path of a kubeconfig, if it is one that blocks.
        open_async: The same, if it is an async one.
    """

    open: Callable[[str], AbstractContextManager[Calls]] | None = None
    open_async: Callable[[str], AbstractAsyncContextManager[AsyncCalls]] | None = None


CLIENTS: Final[Mapping[str, Client]] = {
    OURS: Client("masthead.aio", open_async=_masthead_aio),
    OURS_UVLOOP: Client("masthead.aio, on uvloop", open_async=_masthead_aio, module="uvloop"),
    OURS_BLOCKING: Client("masthead, 16 threads", open=_masthead),
    "bare": Client("bare sockets, 16 threads: nothing but HTTP", open=_bare, most=0),
    OFFICIAL: Client("kubernetes, 16 threads", open=_kubernetes, peer="kubernetes"),
    "kubernetes_asyncio": Client(
        "kubernetes_asyncio", open_async=_kubernetes_asyncio, peer="kubernetes_asyncio", most=2_000
    ),
    LIGHTKUBE: Client("lightkube, 16 threads", open=_lightkube, peer="lightkube"),
    "lightkube_async": Client("lightkube, async", open_async=_lightkube_async, peer="lightkube"),
    "kr8s": Client("kr8s, async", open_async=_kr8s, peer="kr8s", most=1_000),
}
"""By the name that the JSON has for them."""

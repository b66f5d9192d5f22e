"""A program whose children use the cluster: ``python -m tests.integration.process_pools KUBECONFIG START_METHOD``."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TYPE_CHECKING

import masthead
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ClosedError, InformerStateError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

WITHIN = 60.0
client: masthead.Client
inherited: tuple[masthead.Client, masthead.SharedInformer[ConfigMap]] | None = None


def connect(kubeconfig: str) -> None:
    """Make the client of a child."""
    global client  # noqa: PLW0603 - one for each process
    client = masthead.Client(kubeconfig=kubeconfig)


def label(target: ConfigMap, patch: masthead.Patch) -> ConfigMap:
    return client.core_v1.config_maps(target.metadata.namespace).patch(target.metadata.name, patch)


def copy_cache() -> masthead.ObjectList[ConfigMap]:
    with masthead.SharedInformer(client.core_v1.config_maps("default")) as informer:
        informer.wait_for_cache_sync(WITHIN)
        return client.core_v1.config_maps("default").list()


def get(name: str) -> ConfigMap:
    return client.core_v1.config_maps("default").get(name)


def use_inherited(use: str) -> object:
    """Use what the child of a fork has of its parent."""
    assert inherited is not None
    parent, informer = inherited
    uses: dict[str, Callable[[], object]] = {
        "call": lambda: parent.core_v1.config_maps("default").list(),
        "read": informer.lister.list,
        "wait": lambda: informer.wait_for_cache_sync(WITHIN),
        "stop": informer.stop,
        "close": parent.close,
    }
    return uses[use]()


def check_children(pool: ProcessPoolExecutor, made: ConfigMap) -> None:
    """Children have clients and informers; objects, lists, patches and errors come and go."""
    labelled = pool.submit(label, made, masthead.Patch.merge({"metadata": {"labels": {"by": "child"}}})).result(WITHIN)
    assert (type(labelled), labelled.metadata.labels) == (ConfigMap, {"by": "child"})
    copied = pool.submit(copy_cache).result(WITHIN)
    assert made.metadata.name in [each.metadata.name for each in copied]
    missing = pool.submit(get, "absent").exception(WITHIN)
    assert isinstance(missing, NotFoundError)
    assert (missing.verb, missing.name, missing.code) == ("get", "absent", 404)


def check_inherited(pool: ProcessPoolExecutor) -> None:
    """What the child has of its parent refuses, and can be closed."""

    def use(name: str) -> Future[object]:
        return pool.submit(use_inherited, name)

    for name, expected in (("call", ClosedError), ("read", InformerStateError), ("wait", ClosedError)):
        error = use(name).exception(WITHIN)
        assert isinstance(error, expected), repr(error)
        assert "forked" in str(error)
    for name in ("stop", "close"):
        assert use(name).result(WITHIN) is None


def fork_in_thread() -> None:
    """Fork from another thread than the one that made the client."""

    def fork() -> None:
        pid = os.fork()
        if pid == 0:
            try:
                use_inherited("call")
            except ClosedError:
                os._exit(3)
            os._exit(1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    codes: list[int] = []
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join(WITHIN)
    assert codes == [3]


def main(kubeconfig: str, method: str) -> None:
    """Run the children while the parent has a client and an informer of its own."""
    global inherited  # noqa: PLW0603 - for children of forks
    with (
        masthead.Client(kubeconfig=kubeconfig) as parent,
        masthead.SharedInformer(parent.core_v1.config_maps("default")) as informer,
    ):
        inherited = parent, informer
        informer.wait_for_cache_sync(WITHIN)
        made = parent.core_v1.config_maps("default").create(ConfigMap.new(f"by-{method}"))
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(1, context, initializer=connect, initargs=(kubeconfig,)) as pool:
            check_children(pool, made)
            if method == "fork":
                check_inherited(pool)
        if method == "fork":
            fork_in_thread()
        # The parent has seen what its children wrote, on the watch that it had before.
        informer.wait_for_version(parent.core_v1.config_maps("default").get(f"by-{method}"), timeout=WITHIN)
        assert informer.lister.namespace("default").get(f"by-{method}").metadata.labels == {"by": "child"}
        assert informer.health.is_connected


if __name__ == "__main__":
    main(*sys.argv[1:])

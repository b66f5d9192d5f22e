"""Uses an installed masthead: run by the Python of a clean environment, isolated, without any extra.

    python -I smoke.py

It imports the standard library and masthead only. What fails raises.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import masthead
import masthead.aio
import masthead.server
from masthead.api.core.v1 import ConfigMap, Pod, Secret
from masthead.testing import Environment, in_virtual_time

_PATIENCE_S = 30


def use_client_and_informer() -> None:
    """Create an object on the embedded server, and see an informer, which runs in a thread, get it."""
    arrived = threading.Event()

    def on_add(obj: ConfigMap) -> None:
        if obj.metadata.name == "smoke":
            arrived.set()

    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        maps = client.core_v1.config_maps("default")
        with masthead.SharedInformer(maps) as informer:
            informer.add_event_handler(on_add=on_add)
            informer.wait_for_cache_sync(timeout=_PATIENCE_S)
            maps.create(ConfigMap.new("smoke", data={"a": "b"}))
            assert arrived.wait(_PATIENCE_S), "the informer did not see the ConfigMap"
            found = informer.indexer.get_by_key("default/smoke")
        assert found is not None
        assert found.data == {"a": "b"} == maps.get("smoke").data


app = masthead.Manager("smoke")


@app.controller(Secret, owns=[ConfigMap])
async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result:
    """Keep a ConfigMap for each Secret."""
    await ctx.apply(ConfigMap.new(secret.metadata.name, data={"keys": str(len(secret.data))}))
    return masthead.controller.Result(requeue_after=3600)


@in_virtual_time
async def use_controller() -> None:
    """Run a controller for a day of virtual time."""
    async with Environment(app, objects=[Secret.new("one", namespace="default")]) as env:
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/one"]
        env.clear()
        await env.advance(24 * 3600)
        await env.wait_for_idle()
        assert env.writes == []


def main() -> None:
    """Use everything."""
    assert Path(masthead.__file__).is_relative_to(sys.prefix), f"{masthead.__file__} is not of {sys.prefix}"
    pod = Pod.from_json(b'{"metadata":{"name":"a"},"spec":{"nodeName":"n1"}}')
    assert pod.spec.node_name == "n1"
    use_client_and_informer()
    use_controller()


if __name__ == "__main__":
    main()

"""What type checkers see of informers and factories, blocking and async. Checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import assert_type

import masthead
import masthead.aio
from masthead._meta.v1 import PartialObjectMetadata
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Node, Pod
from masthead.api.extensions.v1beta1 import Ingress

DEPLOYMENTS = masthead.GroupVersionResource("apps", "v1", "deployments")


class Telling(masthead.EventHandler[Pod]):
    """A handler of pods."""

    def on_add(self, obj: Pod, is_initial: bool) -> None:
        print(obj.spec.node_name, is_initial)


def blocking(client: masthead.Client) -> None:
    factory = masthead.SharedInformerFactory(
        client,
        namespace=["a", "b"],
        transform=masthead.cache.drop_managed_fields,
        resyncs={Pod: 30.0, DEPLOYMENTS: 60.0},
    )
    pods = factory.core_v1.pods
    assert_type(factory.extensions_v1beta1.ingresses.lister.list(), list[Ingress])
    assert_type(pods, masthead.informers.Informers[Pod])
    assert_type(pods.informer, masthead.SharedInformer[Pod])
    assert_type(pods.lister.list(), list[Pod])
    assert_type(pods.lister.namespace("a").get("web"), Pod)
    assert_type(factory.informer(Deployment, label_selector="app=web").lister.get("a/web"), Deployment)
    assert_type(factory.dynamic(DEPLOYMENTS).lister.list(), list[masthead.Unstructured])
    assert_type(factory.metadata(Node).lister.get("one"), PartialObjectMetadata)
    assert_type(factory.for_resource(DEPLOYMENTS).lister.list(), list[masthead.Object])
    assert_type(
        factory.informer_for(Node, lambda client, _: masthead.SharedInformer(client.core_v1.nodes())),
        masthead.SharedInformer[Node],
    )
    pods.informer.add_indexers({"node": lambda pod: [pod.spec.node_name or ""]})
    assert_type(pods.informer.add_event_handler(Telling()), masthead.cache.Registration)
    pods.informer.add_event_handler(on_update=lambda old, new: print(old.status.phase, new.status.phase))
    with factory as running:
        assert_type(running, masthead.SharedInformerFactory)
        factory.wait_for_cache_sync(timeout=30, handlers=True)
        assert_type([each.is_healthy for each in factory.health.values()], list[bool])
    with masthead.SharedInformer(client.core_v1.config_maps("a"), hold="compact") as informer:
        assert_type(informer, masthead.SharedInformer[ConfigMap])
        assert_type(informer.indexer.by_index("namespace", "a"), list[ConfigMap])


async def awaited(client: masthead.aio.Client) -> None:
    factory = masthead.aio.SharedInformerFactory(client, transform=masthead.cache.keep_fields("metadata.labels"))
    assert_type(factory.core_v1.pods.lister.list(), list[Pod])
    assert_type(factory.apps_v1.deployments.informer, masthead.aio.SharedInformer[Deployment])
    async with factory:
        await factory.wait_for_cache_sync(timeout=30)
    informer = masthead.aio.SharedInformer(client.core_v1.pods())

    async def note(pod: Pod) -> None:
        await informer.wait_for_version(pod)

    handle = informer.add_event_handler(on_add=note, on_delete=lambda pod: print(pod.metadata.name))
    assert_type(handle, masthead.aio.cache.Registration)
    await handle.remove()


def mistakes(client: masthead.Client, factory: masthead.SharedInformerFactory) -> None:
    print(factory.core_v1.pod)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    print(factory.core_v1.bindings)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    masthead.SharedInformerFactory(client, labels="a=b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    masthead.SharedInformer(client.core_v1.pods(), hold="tight")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

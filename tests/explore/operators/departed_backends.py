"""A list of backends, whose entries are removed when the operator sees a backend disappear.

A backend that is deleted while the operator is down, or whose event is lost, stays in the list of the balancer for
ever: the set of backends seen last is in memory only.
"""

import masthead
from masthead.aio import ReconcileContext
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.controller import CacheReader
from masthead.meta import Struct
from masthead.testing import Environment

PATTERN = "unobserved"
ORACLES = {"end-state"}


class BalancerSpec(Struct):
    """The balanced app."""

    app: str


class Balancer(masthead.CustomResource, group="example.com", version="v1"):
    """A load balancer in front of the pods of an app."""

    spec: BalancerSpec


CRDS = [Balancer]


def config_of(balancer: Balancer, backends: set[str]) -> ConfigMap:
    """Return the configuration of a balancer."""
    return ConfigMap.new(f"{balancer.metadata.name}-backends", data={"backends": "\n".join(sorted(backends))})


def balancers_of(pod: Pod, cache: CacheReader) -> list[Balancer]:
    """Return the balancers of a pod."""
    app = pod.metadata.labels.get("app")
    return [balancer for balancer in cache.list(Balancer) if balancer.spec.app == app]


class BuggyBalancers:
    """Remembers the pods of each balancer, to notice deleted ones."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    async def reconcile(self, ctx: ReconcileContext[Balancer], balancer: Balancer) -> None:
        """Add new pods to the configuration, and remove deleted ones."""
        pods = {pod.metadata.name for pod in await ctx.list(Pod, label_selector={"app": balancer.spec.app})}
        deleted = self._seen.get(str(ctx.request), set()) - pods
        self._seen[str(ctx.request)] = pods
        config = await ctx.get(ConfigMap, f"{ctx.request.name}-backends")
        listed = set(config.data["backends"].split()) if config is not None else set()
        await ctx.apply(config_of(balancer, (listed | pods) - deleted))


class FixedBalancers:
    """Writes the pods that exist."""

    async def reconcile(self, ctx: ReconcileContext[Balancer], balancer: Balancer) -> None:
        """Write the whole configuration."""
        pods = {pod.metadata.name for pod in await ctx.list(Pod, label_selector={"app": balancer.spec.app})}
        await ctx.apply(config_of(balancer, pods))


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("balancer-operator")
    app.controller(Balancer, owns=[ConfigMap], watches={Pod: balancers_of})(BuggyBalancers)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("balancer-operator")
    app.controller(Balancer, owns=[ConfigMap], watches={Pod: balancers_of})(FixedBalancers)
    return app


def pod_of(name: str) -> Pod:
    """Return a pod of the app."""
    return Pod.new(name, labels={"app": "shop"}, spec={"containers": [{"name": "shop", "image": "shop:1"}]})


async def workload(env: Environment) -> None:
    """Create a balancer of two pods, replace one of them, and delete the other."""
    pods = env.client.core_v1.pods("default")
    await pods.create(pod_of("shop-a"))
    await pods.create(pod_of("shop-b"))
    await env.client.resource(Balancer, "default").create(Balancer.new("front", spec={"app": "shop"}))
    await env.wait_for_idle()
    await pods.delete("shop-a")
    await env.wait_for_idle()
    await pods.create(pod_of("shop-c"))
    await env.wait_for_idle()

"""A rollout that follows a change of a ConfigMap, and is decided by comparing that ConfigMap.

A crash between the update of the ConfigMap and that of the Deployment hides the difference: the next reconcile finds
the new configuration stored, and the pods keep the old one.
"""

import hashlib

import masthead
from masthead.aio import ReconcileContext
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap
from masthead.controller import Permission
from masthead.meta import Patch, Struct, set_controller
from masthead.testing import Environment

PATTERN = "crash"
ORACLES = {"end-state"}
HASH = "example.com/config-hash"


class ProxySpec(Struct):
    """The settings of a proxy."""

    upstream: str
    timeout: int = 30


class Proxy(masthead.CustomResource, group="example.com", version="v1", kind="Proxy", plural="proxies"):
    """A proxy, whose pods read their configuration at their start."""

    spec: ProxySpec


CRDS = [Proxy]


def config_of(proxy: Proxy) -> ConfigMap:
    """Return the configuration of a proxy."""
    text = f"upstream={proxy.spec.upstream}\ntimeout={proxy.spec.timeout}\n"
    return ConfigMap.new(proxy.metadata.name, namespace=proxy.metadata.namespace, data={"proxy.conf": text})


def hash_of(config: ConfigMap) -> str:
    """Return a hash of a configuration."""
    return hashlib.sha256(config.data["proxy.conf"].encode()).hexdigest()[:12]


def deployment_of(proxy: Proxy) -> Deployment:
    """Return the Deployment of a proxy; another configuration is another template, and rolls out."""
    labels = {"proxy": proxy.metadata.name}
    metadata = {"labels": labels, "annotations": {HASH: hash_of(config_of(proxy))}}
    template = {"metadata": metadata, "spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return Deployment.new(proxy.metadata.name, namespace=proxy.metadata.namespace, spec=spec)


async def reconcile_buggy(ctx: ReconcileContext[Proxy], proxy: Proxy) -> None:
    """Store a changed configuration, and roll it out."""
    configs = ctx.client.core_v1.config_maps(ctx.request.namespace)
    deployments = ctx.client.apps_v1.deployments(ctx.request.namespace)
    config, deployment = config_of(proxy), deployment_of(proxy)
    set_controller(config, proxy)
    set_controller(deployment, proxy)
    stored = await ctx.get(ConfigMap, config.metadata.name)
    if stored is None:
        await configs.create(config)
    if await ctx.get(Deployment, deployment.metadata.name) is None:
        await deployments.create(deployment)
    if stored is not None and stored.data != config.data:
        changed = stored.copy()
        changed.data = config.data
        await configs.update(changed)
        annotations = {HASH: hash_of(config)}
        patch = Patch.merge({"spec": {"template": {"metadata": {"annotations": annotations}}}})
        await deployments.patch(deployment.metadata.name, patch)


async def reconcile_fixed(ctx: ReconcileContext[Proxy], proxy: Proxy) -> None:
    """Apply both, each compared with its own desired state."""
    await ctx.apply(config_of(proxy))
    await ctx.apply(deployment_of(proxy))


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("proxy-operator")
    app.controller(Proxy, owns=[ConfigMap, Deployment], permissions=[Permission(ConfigMap, "update")])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("proxy-operator")
    app.controller(Proxy, owns=[ConfigMap, Deployment])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create a proxy, and change its settings."""
    proxies = env.client.resource(Proxy, "default")
    await proxies.create(Proxy.new("edge", spec={"upstream": "shop"}))
    await env.wait_for_idle()
    await proxies.patch("edge", Patch.merge({"spec": {"timeout": 60}}))
    await env.wait_for_idle()

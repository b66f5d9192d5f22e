"""A ConfigMap of several writers, which is read from the cache and replaced without its resource version.

A key that another client has written between the read and the write is lost: without the version, the server cannot
notice the conflict.
"""

import masthead
from masthead import ReconcileContext
from masthead.api.core.v1 import ConfigMap
from masthead.controller import CacheReader, Permission, Watches
from masthead.meta import Patch, Struct
from masthead.testing import Environment

PATTERN = "conflict"
ORACLES = {"lost-update", "end-state"}
HOSTS = "hosts"
FINALIZER = "example.com/hosts"


class SiteSpec(Struct):
    """The address of a site."""

    host: str


class Site(masthead.CustomResource, group="example.com", version="v1"):
    """A site with an entry in the hosts of its namespace."""

    spec: SiteSpec


CRDS = [Site]


def reconcile_buggy(ctx: ReconcileContext[Site], site: Site) -> None:
    """Set the entry of a site, or remove that of a deleted one."""
    if not ctx.finalize(lambda: store_entry(ctx, None)):
        store_entry(ctx, site.spec.host)


def store_entry(ctx: ReconcileContext[Site], host: str | None) -> None:
    """Replace the ConfigMap by one with another entry of this site."""
    client = ctx.client.core_v1.config_maps(ctx.request.namespace)
    hosts = ctx.get(ConfigMap, HOSTS)
    if hosts is None:
        client.create(ConfigMap.new(HOSTS, data={ctx.request.name: host} if host else {}))
        return
    others = {name: value for name, value in hosts.data.items() if name != ctx.request.name}
    data = others | ({ctx.request.name: host} if host else {})
    if data != hosts.data:
        changed = hosts.copy()
        changed.data = data
        changed.metadata.resource_version = ""  # so that there are no conflicts
        client.update(changed)


def reconcile_fixed(ctx: ReconcileContext[Site], site: Site) -> None:
    """Apply the entry of a site: each site manages its own field of the ConfigMap."""
    if ctx.finalize(lambda: apply_entry(ctx, site, {})):
        return
    hosts = ctx.get(ConfigMap, HOSTS)
    entry = {ctx.request.name: site.spec.host}
    # A cached site may be deleted already, and its entry would stay.
    if (hosts is None or entry.items() - hosts.data.items()) and ctx.confirm():
        apply_entry(ctx, site, entry)


def apply_entry(ctx: ReconcileContext[Site], site: Site, entry: dict[str, str]) -> None:
    """Apply a part of the ConfigMap."""
    ctx.apply(ConfigMap.new(HOSTS, data=entry), owned=False, field_manager=f"site-{site.metadata.uid}")


def sites_of(hosts: ConfigMap, cache: CacheReader) -> list[Site]:
    """Return the sites of a namespace."""
    return list(cache.list(Site, namespace=hosts.metadata.namespace))


_HOSTS = Watches(ConfigMap, sites_of, field_selector={"metadata.name": HOSTS})
_PERMISSION = Permission(ConfigMap, "create", "update", "patch")


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("site-operator")
    app.controller(Site, watches=[_HOSTS], finalizer=FINALIZER, permissions=[_PERMISSION])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("site-operator")
    app.controller(Site, watches=[_HOSTS], finalizer=FINALIZER, permissions=[_PERMISSION])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create two sites, add an entry by hand, change the first site, and delete the second."""
    sites = env.client.resource(Site, "default")
    await sites.create(Site.new("blog", spec={"host": "blog.example.com"}))
    await env.wait_for_idle()
    await sites.create(Site.new("shop", spec={"host": "shop.example.com"}))
    await env.wait_for_idle()
    entry = ConfigMap.new(HOSTS, data={"mail": "mx.example.com"})
    await env.client.core_v1.config_maps("default").apply(entry, field_manager="admin")
    await env.wait_for_idle()
    await sites.patch("blog", Patch.merge({"spec": {"host": "www.example.com"}}))
    await env.wait_for_idle()
    await sites.delete("shop")
    await env.wait_for_idle()

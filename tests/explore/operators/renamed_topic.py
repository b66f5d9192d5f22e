"""A child with a name from the spec, which also has its previous name.

Two renames in a row, a to b and b to c, that are seen as one delete the child b, which never existed, and leave the
child a.
"""

import masthead
from masthead.aio import ReconcileContext
from masthead.api.core.v1 import ConfigMap
from masthead.meta import Patch, Struct
from masthead.testing import Environment

PATTERN = "unobserved"
ORACLES = {"end-state"}


class TopicSpec(Struct):
    """The name of a topic, and its previous name."""

    topic: str
    renamed_from: str = ""


class TopicStatus(Struct):
    """The name under which it can be reached."""

    topic: str = ""


class Topic(masthead.CustomResource, group="example.com", version="v1"):
    """A topic, whose settings are in a ConfigMap of its name."""

    spec: TopicSpec
    status: TopicStatus


CRDS = [Topic]


def settings_of(topic: Topic) -> ConfigMap:
    """Return the settings of a topic."""
    return ConfigMap.new(f"topic-{topic.spec.topic}", data={"partitions": "3"})


async def reconcile_buggy(ctx: ReconcileContext[Topic], topic: Topic) -> None:
    """Write the settings under the new name, and delete those of the previous one."""
    await ctx.apply(settings_of(topic))
    if topic.spec.renamed_from:
        previous = await ctx.get(ConfigMap, f"topic-{topic.spec.renamed_from}")
        if previous is not None:
            await ctx.delete(previous)
    await ctx.update_status({"topic": topic.spec.topic})


async def reconcile_fixed(ctx: ReconcileContext[Topic], topic: Topic) -> None:
    """Write the settings under the new name, and delete all others of this topic."""
    wanted = settings_of(topic)
    others = [owned for owned in await ctx.owned(ConfigMap) if owned.metadata.name != wanted.metadata.name]
    # An older name must not replace the newest one.
    if (others or topic.status.topic != topic.spec.topic) and not await ctx.confirm():
        return
    await ctx.apply(wanted)
    for former in others:
        await ctx.delete(former)
    await ctx.update_status({"topic": topic.spec.topic})


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("topic-operator")
    app.controller(Topic, owns=[ConfigMap])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("topic-operator")
    app.controller(Topic, owns=[ConfigMap])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create a topic, and rename it twice."""
    topics = env.client.resource(Topic, "default")
    await topics.create(Topic.new("orders", spec={"topic": "a"}))
    await env.wait_for_idle()
    for new, old in (("b", "a"), ("c", "b")):
        await topics.patch("orders", Patch.merge({"spec": {"topic": new, "renamedFrom": old}}))
        await env.wait_for_idle()

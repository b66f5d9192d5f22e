"""``ctx.apply``: owners of applied objects, and skipped requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead import Patch
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import AlreadyControlledError
from masthead.meta import controller_of
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead.meta import Object

KINDS = pytest.mark.parametrize("owns", [(ConfigMap,), ()], ids=["cached", "not cached"])


def sharing(owns: Sequence[type[Object]]) -> masthead.Manager:
    """Create an operator whose objects all apply the same child."""
    app = masthead.Manager("sharing")

    @app.controller(Secret, owns=owns)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new("shared", data={"size": str(len(secret.data))}))

    return app


async def owner_of(env: Environment) -> str:
    found = controller_of(await env.client.core_v1.config_maps("default").get("shared"))
    return found.name if found is not None else ""


@KINDS
@in_virtual_time
async def test_a_child_is_not_taken_from_another_owner(owns: Sequence[type[Object]]) -> None:
    async with Environment(sharing(owns)) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.wait_for_idle()
        await secrets.create(Secret.new("second"))
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/shared"]
        assert await owner_of(env) == "first"
        (failure,) = env.failures
        assert "ConfigMap default/shared is already controlled by Secret first" in failure
        assert "Secret default/second cannot control it as well; give it another name" in failure


@KINDS
@in_virtual_time
async def test_owners_that_create_it_at_once_do_not_fight(owns: Sequence[type[Object]]) -> None:
    there = [Secret.new(name, namespace="default") for name in ("first", "second")]
    async with Environment(sharing(owns), objects=there) as env:
        await env.wait_for_idle()
        assert await owner_of(env) in {"first", "second"}
        assert len(env.writes) <= 2
        assert [failure.partition(" (")[0].split(": ")[1] for failure in env.failures] == ["AlreadyControlledError"]


@KINDS
@in_virtual_time
async def test_a_recreated_owner_takes_its_child_over(owns: Sequence[type[Object]]) -> None:
    options = {"controllers": False}  # nothing collects the child
    async with Environment(sharing(owns), server_options=options) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.wait_for_idle()
        await secrets.delete("first")
        made = await secrets.create(Secret.new("first"))
        await env.wait_for_idle()
        assert env.failures == []
        found = controller_of(await env.client.core_v1.config_maps("default").get("shared"))
        assert found is not None
        assert found.uid == made.metadata.uid


@KINDS
@in_virtual_time
async def test_an_unchanged_child_is_not_written_again(owns: Sequence[type[Object]]) -> None:
    async with Environment(sharing(owns)) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.wait_for_idle()
        env.clear()
        await secrets.patch("first", Patch.merge({"metadata": {"labels": {"a": "b"}}}))
        await env.wait_for_idle()
        assert env.writes == []
        await secrets.patch("first", Patch.merge({"data": {"a": "MQ=="}}))
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/shared"]


@in_virtual_time
async def test_a_foreign_controller_of_a_child_is_an_error() -> None:
    async with Environment(sharing([])) as env:
        secrets = env.client.core_v1.secrets("default")
        other = await secrets.create(Secret.new("other", labels={"skip": "yes"}))
        reference = {
            "apiVersion": "v1", "kind": "Secret", "name": "other", "uid": other.metadata.uid, "controller": True,
        }  # fmt: skip
        child = ConfigMap.new("shared")
        child.metadata.owner_references = [masthead.meta.OwnerReference.from_dict(reference)]
        await env.client.core_v1.config_maps("default").create(child)
        await secrets.create(Secret.new("first"))
        await env.wait_for_idle()
        assert await owner_of(env) == "other"
        assert any(AlreadyControlledError.__name__ in failure for failure in env.failures)


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "child"}, "stringData": {"token": "one"}}
FORMS: dict[str, Callable[[str], Object | Mapping[str, object]]] = {
    "typed stringData": lambda text: Secret.new("child", string_data={"token": text}),
    "typed data": lambda text: Secret.new("child", data={"token": text.encode()}),
    "untyped": lambda text: masthead.Unstructured.from_dict({**SECRET, "stringData": {"token": text}}),
    "mapping": lambda text: {**SECRET, "stringData": {"token": text}},
    "both": lambda text: {**SECRET, "data": {"token": "b3RoZXI="}, "stringData": {"token": text}},
}


def applying(
    child_of: Callable[[ConfigMap], Object | Mapping[str, object]],
    owns: Sequence[type[Object] | str],
    returned: list[Object],
) -> masthead.Manager:
    app = masthead.Manager("applying")

    @app.controller(ConfigMap, owns=owns)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], config: ConfigMap) -> None:
        returned.append(await ctx.apply(child_of(config)))

    return app


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("owns", [[Secret], ["v1/secrets"], []], ids=["typed", "untyped", "no cache"])
@in_virtual_time
async def test_every_change_is_one_patch(form: str, owns: Sequence[type[Object] | str]) -> None:
    returned: list[Object] = []
    app = applying(lambda config: FORMS[form](config.data["text"]), owns, returned)
    config = ConfigMap.new("config", data={"text": "one"})
    async with Environment(app, server_options={"controllers": False}) as env:
        maps = env.client.core_v1.config_maps("default")
        await maps.create(config)
        await env.wait_for_idle()
        for labels in ({"a": "1"}, {"a": "2"}):
            await maps.patch("config", Patch.merge({"metadata": {"labels": labels}}))
            await env.wait_for_idle()
        assert env.writes == ["apply secrets default/child"]
        await maps.patch("config", Patch.merge({"data": {"text": "two"}}))
        await env.wait_for_idle()
        assert env.writes == ["apply secrets default/child"] * 2
        child = await env.client.core_v1.secrets("default").get("child")
        assert child.data == {"token": b"two"}
        assert len(returned) >= 4
        is_typed = form.startswith("typed")
        assert all(isinstance(obj, Secret if is_typed else masthead.Unstructured) for obj in returned)


@in_virtual_time
async def test_a_key_that_is_no_longer_in_string_data_is_removed() -> None:
    app = applying(lambda config: Secret.new("child", string_data=dict(config.data)), [Secret], [])
    async with Environment(app, server_options={"controllers": False}) as env:
        maps = env.client.core_v1.config_maps("default")
        await maps.create(ConfigMap.new("config", data={"a": "1", "b": "2"}))
        await env.wait_for_idle()
        await maps.patch("config", Patch.merge({"data": {"b": None}}))
        await env.wait_for_idle()
        assert (await env.client.core_v1.secrets("default").get("child")).data == {"a": b"1"}


@pytest.mark.parametrize("owns", [[ConfigMap], []], ids=["cached", "not cached"])
@in_virtual_time
async def test_a_mapping_takes_no_child_from_another_owner(owns: Sequence[type[Object] | str]) -> None:
    app = masthead.Manager("sharing")
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}

    @app.controller(Secret, owns=owns)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply({**child, "data": {"size": str(len(secret.data))}})

    async with Environment(app) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("first"))
        await env.wait_for_idle()
        await secrets.create(Secret.new("second"))
        await env.wait_for_idle()
        assert await owner_of(env) == "first"
        assert env.writes == ["apply configmaps default/shared"]
        (failure,) = env.failures
        assert "AlreadyControlledError" in failure


@in_virtual_time
async def test_a_second_apply_in_one_reconcile_is_not_sent() -> None:
    app = masthead.Manager("twice")

    @app.controller(Secret, owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        for _ in range(2):
            await ctx.apply(ConfigMap.new("child", data={"name": secret.metadata.name}))

    async with Environment(app) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("owner"))
        await env.wait_for_idle()
        assert [write.code for write in env.writes] == [201]


@pytest.mark.parametrize(
    ("child", "message"),
    [
        ({"kind": "Secret", "metadata": {"name": "x"}}, "to apply Secret x, set apiVersion"),
        ({"apiVersion": "v1", "metadata": {"name": "x"}}, "to apply the object x, set kind"),
        (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
            "which here is 'default'; give it no owner (ctx.apply(..., owned=False)), and delete it in a finalizer",
        ),
    ],
)
def test_what_cannot_be_applied_is_named_with_a_remedy(child: dict[str, object], message: str) -> None:
    app = masthead.Manager("remedies")

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        await ctx.apply(child)

    @in_virtual_time
    async def play() -> None:
        async with Environment(app, objects=[ConfigMap.new("one", namespace="default")]) as env:
            await env.advance(1)
            (failure,) = env.failures
            assert message in failure

    play()

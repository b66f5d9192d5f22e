"""Functions of webhooks: plain ones in threads, generators, clients, timeouts and wrong results."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import masthead
from masthead import webhook
from masthead._webhook import function_calls
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import StatusError, UnprocessableError
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from masthead.webhook import AdmissionRequest, FieldError

    Request = AdmissionRequest[ConfigMap]


async def created(app: masthead.Manager, config: ConfigMap | None = None) -> ConfigMap:
    """Create an object through the webhooks of a manager."""
    async with Environment(app) as env:
        try:
            return await env.client.resource(ConfigMap, "default").create(config or ConfigMap.new("a"))
        finally:
            assert env.failures is not None  # expected


def yields(_: Request, config: ConfigMap) -> Iterator[FieldError]:
    for key in config.data:
        yield webhook.forbidden(f"data.{key}", "no data")


async def yields_async(_: Request, config: ConfigMap) -> AsyncIterator[FieldError]:
    for key in config.data:
        yield webhook.forbidden(f"data.{key}", "no data")


def returns_one(_: Request, _config: ConfigMap) -> FieldError:
    return webhook.required("data.a")


def raises(_: Request, _config: ConfigMap) -> None:
    raise webhook.InvalidObjectError(webhook.required("data.a"), webhook.required("data.b"))


@pytest.mark.parametrize("function", [yields, yields_async, returns_one, raises], ids=lambda given: given.__name__)
@in_virtual_time
async def test_field_errors_are_returned_yielded_or_raised(function: Callable[..., object]) -> None:
    app = masthead.Manager("fields")
    app.validate(ConfigMap)(function)
    with pytest.raises(UnprocessableError, match=r"data\.a"):
        await created(app, ConfigMap.new("a", data={"a": "1"}))


@in_virtual_time
async def test_plain_functions_run_in_threads_with_a_blocking_client() -> None:
    app = masthead.Manager("threads", permissions=[masthead.controller.Permission(Secret, "get")])
    seen: list[str] = []

    @app.validate(ConfigMap)
    def check(_: Request, _config: ConfigMap, client: masthead.Client) -> list[FieldError]:
        seen.append(threading.current_thread().name)
        secret = client.core_v1.secrets("default").get("password")
        return [] if secret.data["k"] == b"v" else [webhook.not_found("data.secret", "password")]

    @app.validate(ConfigMap)
    async def check_async(_: Request, _config: ConfigMap, client: masthead.aio.Client) -> None:
        await client.core_v1.secrets("default").get("password")

    async with Environment(app, objects=[Secret.new("password", namespace="default", data={"k": b"v"})]) as env:
        await env.client.resource(ConfigMap, "default").create(ConfigMap.new("a"))
        assert env.missing_permissions == []
    assert [name.rpartition("-")[0] for name in seen] == ["masthead-webhook"]


@in_virtual_time
async def test_a_mutation_may_return_another_object() -> None:
    app = masthead.Manager("mutations")

    @app.mutate(ConfigMap)
    async def fill(_: Request, config: ConfigMap) -> ConfigMap:
        changed = config.copy()
        changed.data = {"filled": "yes"}
        return changed

    assert (await created(app)).data == {"filled": "yes"}


@in_virtual_time
async def test_a_new_object_of_a_mutation_gets_the_metadata_that_it_does_not_set() -> None:
    app = masthead.Manager("mutations")

    @app.mutate(ConfigMap)
    async def fill(_: Request, _config: ConfigMap) -> ConfigMap:
        return ConfigMap.new(annotations={"by": "fill"}, data={"filled": "yes"})

    found = await created(app, ConfigMap.new("a", labels={"team": "shop"}, annotations={"from": "user"}))
    assert (found.metadata.name, found.data) == ("a", {"filled": "yes"})
    assert (found.metadata.labels, found.metadata.annotations) == ({"team": "shop"}, {"by": "fill"})


@in_virtual_time
async def test_a_copy_of_a_mutation_counts_as_it_is() -> None:
    app = masthead.Manager("mutations")

    @app.mutate(ConfigMap)
    async def strip(_: Request, config: ConfigMap) -> ConfigMap:
        changed = config.copy()
        changed.metadata.labels = {}
        return changed

    assert (await created(app, ConfigMap.new("a", labels={"team": "shop"}))).metadata.labels == {}


@pytest.mark.parametrize("edits", [True, False], ids=["edited", "returned"])
@pytest.mark.parametrize("field", ["name", "namespace", "uid"])
@in_virtual_time
async def test_a_mutation_cannot_change_the_identity(field: str, edits: bool, caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("wrong")

    @app.mutate(ConfigMap)
    async def rename(_: Request, config: ConfigMap) -> ConfigMap | None:
        changed = config if edits else ConfigMap.new()
        setattr(changed.metadata, field, "other")
        return None if edits else changed

    async with Environment() as env:
        maps = env.client.resource(ConfigMap, "default")
        existing = await maps.create(ConfigMap.new("a"))
        await env.start(app)
        with pytest.raises(StatusError, match="ArgumentError"):
            await maps.update(existing)
        assert len(env.failures) == 1
    assert f"a mutation changed metadata.{field} from" in caplog.text
    assert "edit the object that the function gets" in caplog.text


@pytest.mark.parametrize("result", [Secret.new("a"), 3, "text"], ids=["kind", "number", "text"])
@in_virtual_time
async def test_a_mutation_that_returns_something_else_fails(result: Any) -> None:
    app = masthead.Manager("wrong")
    app.mutate(ConfigMap)(lambda _request, _config: result)
    with pytest.raises(StatusError, match="ArgumentError"):
        await created(app)


@pytest.mark.parametrize("result", [3, "text", [3], True], ids=["number", "text", "list", "bool"])
@in_virtual_time
async def test_a_validation_that_returns_something_else_fails(result: Any) -> None:
    app = masthead.Manager("wrong")
    app.validate(ConfigMap)(lambda _request, _config: result)
    with pytest.raises(StatusError, match="ArgumentError"):
        await created(app)


@in_virtual_time
async def test_a_slow_function_is_cancelled_in_time() -> None:
    app = masthead.Manager("slow")

    @app.validate(ConfigMap, timeout=2)
    async def check(_: Request, _config: ConfigMap) -> None:
        await asyncio.Event().wait()

    with pytest.raises(StatusError, match=r"took longer than 2 s|deadline|timeout"):
        await created(app)


async def test_threads_of_hanging_functions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_calls, "MAX_THREADS", 2)
    release = threading.Event()

    class Threads:
        async def call_plain(self, function: Callable[..., object], *_: object, role: str) -> object:
            del role
            return await asyncio.to_thread(function)

    calls = function_calls.FunctionCalls(None, Threads())  # type: ignore[arg-type]

    def call() -> Awaitable[object]:
        return calls.call(release.wait, is_async=False, takes_client=False, limit=0.01)

    try:
        for _ in range(2):
            with pytest.raises(function_calls.CallTimeoutError):
                await call()
        with pytest.raises(function_calls.TooManyCallsError):
            await call()
    finally:
        release.set()

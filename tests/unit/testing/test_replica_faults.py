"""Faults of one replica's requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masthead
import masthead.aio
from masthead._controller.logs import current_reconcile
from masthead._transport.contract import TransportRequest
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import BlockingEnvironment, Environment, FaultNotHitError, in_virtual_time
from masthead.testing._fault_trigger import FaultTrigger
from masthead.testing._request_filters import FilteredRequest
from masthead.testing._request_places import RequestPlace, locate, verb_of
from masthead.testing._status_response import StatusResponse, conflict_response, throttled_response
from masthead_server.fault_responses import status_responder, throttle_responder, to_response
from masthead_server.wire.failures import MODIFIED, already_exists, conflict

if TYPE_CHECKING:
    from masthead.testing._exchanges import Exchange
    from masthead_server.wire.request import ApiResponse


class Steps(list[str]):
    """What the operator did, with the replica's number."""


def operator(steps: Steps, *, is_plain: bool = False) -> masthead.Manager:
    """An operator that writes two objects, and tells what it did in between."""
    app = masthead.Manager("pair")

    if is_plain:

        @app.controller(Secret, name="secrets")
        def reconcile_plainly(ctx: masthead.ReconcileContext[Secret], secret: Secret) -> None:
            ctx.apply(ConfigMap.new(f"{secret.metadata.name}-1"))
            steps.append("first")
            ctx.apply(ConfigMap.new(f"{secret.metadata.name}-2"))
            steps.append("second")

        return app

    @app.controller(Secret, name="secrets")
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new(f"{secret.metadata.name}-1"))
        steps.append("first")
        await ctx.apply(ConfigMap.new(f"{secret.metadata.name}-2"))
        steps.append("second")

    return app


async def names_of(env: Environment) -> list[str]:
    found = await env.client.core_v1.config_maps("default").list()
    return [config_map.metadata.name for config_map in found]


@pytest.mark.parametrize("is_plain", [False, True], ids=["coroutine", "thread"])
@pytest.mark.parametrize(
    ("when", "nth", "stored", "done"),
    [
        ("before", 1, [], []),
        ("stored", 1, ["a-1"], []),
        ("answered", 1, ["a-1"], ["first"]),
        ("before", 2, ["a-1"], ["first"]),
        ("stored", 2, ["a-1", "a-2"], ["first"]),
        ("answered", 2, ["a-1", "a-2"], ["first", "second"]),
    ],
    ids=["before 1", "stored 1", "answered 1", "before 2", "stored 2", "answered 2"],
)
def test_a_replica_crashes_at_the_nth_write(
    when: Any, nth: int, stored: list[str], done: list[str], is_plain: bool
) -> None:
    @in_virtual_time
    async def test() -> None:
        steps = Steps()
        async with Environment(lambda: operator(steps, is_plain=is_plain)) as env:
            (replica,) = env.replicas
            crash = replica.faults.crash(when, nth=nth)
            await env.client.core_v1.secrets("default").create(Secret.new("a"))
            write = await crash.hit()
            await env.wait_for_idle()
            assert (crash.hits, crash.write, write.key) == (1, write, f"default/a-{nth}")
            assert (await names_of(env), steps, replica.is_running) == (stored, done, False)
            await env.start(lambda: operator(steps, is_plain=is_plain))
            await env.wait_for_idle()
            assert await names_of(env) == ["a-1", "a-2"]

    test()


@in_virtual_time
async def test_filters_select_requests_of_a_reconcile() -> None:
    steps = Steps()
    async with Environment(lambda: operator(steps)) as env:
        faults = env.replicas[0].faults
        chosen = faults.fail(
            500, resource="configmaps", name="b-2", key="default/b", controller="secrets", verb="apply"
        )
        others = [
            faults.fail(500, resource="configmaps.apps"),
            faults.fail(500, namespace="kube-system"),
            faults.fail(500, key="default/c"),
            faults.fail(500, controller="others"),
            faults.fail(500, verb="create"),
            faults.fail(500, subresource="status"),
        ]
        for name in ("a", "b"):
            await env.client.core_v1.secrets("default").create(Secret.new(name))
        await env.wait_for_idle()
        assert (chosen.hits, chosen.write) == (1, "apply configmaps default/b-2 (500)")
        assert [fault.hits for fault in others] == [0] * 6
        assert [write for write in env.writes if not write.is_accepted] == ["apply configmaps default/b-2 (500)"]


async def read(response: StatusResponse) -> tuple[int, object, dict[str, str]]:
    headers = {name: response.header(name) for name in ("Content-Type", "Retry-After") if response.header(name)}
    body = await response.read()
    return response.status, json.loads(body) if "json" in response.header("content-type") else body, headers


def read_served(response: ApiResponse) -> tuple[int, object, dict[str, str]]:
    headers = {"Content-Type": response.content_type, **dict(response.headers)}
    body = bytes(response.body)
    return response.code, json.loads(body) if "json" in response.content_type else body, headers


@pytest.mark.asyncio
async def test_failures_read_like_those_of_the_embedded_server() -> None:
    place = RequestPlace("deployments", "apps", "", "shop", "web")
    context: Any = None
    for code in (*range(400, 430), 500, 502, 503, 504):
        for reason, message, retry_after in ((None, "", 0), ("Odd", "no luck", 3)):
            served = status_responder(code, reason, message, retry_after=retry_after or None)(context)
            made = StatusResponse(code, reason, message, retry_after)
            assert await read(made) == read_served(to_response(served))
    assert await read(throttled_response(2)) == read_served(to_response(throttle_responder(2)(context)))
    modified = conflict("apps", "deployments", "web", MODIFIED)
    assert await read(conflict_response("update", place)) == read_served(to_response(modified))
    existing = already_exists("apps", "deployments", "web")
    assert await read(conflict_response("create", place)) == read_served(to_response(existing))


@in_virtual_time
async def test_a_forbidden_request_reads_like_one_without_a_role() -> None:
    app, errors = masthead.Manager("curious"), list[str]()

    @app.controller(Secret, permissions=[])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        try:
            await ctx.client.core_v1.pods("default").delete("a")
        except masthead.ForbiddenError as error:
            errors.append(str(error))

    for rbac in (True, False):
        async with Environment(app, rbac=rbac) as env:
            forbidden = env.replicas[0].faults.forbid(times=None) if not rbac else None
            await env.client.core_v1.secrets("default").create(Secret.new("a"))
            await env.wait_for_idle()
            assert forbidden is None or forbidden.hits == 1
        app = masthead.Manager("curious")
        app.controller(Secret)(reconcile)
    assert len(errors) == 2
    assert errors[0] == errors[1]


@in_virtual_time
async def test_a_conflict_is_retried_and_a_lost_response_was_stored() -> None:
    steps = Steps()
    async with Environment(lambda: operator(steps)) as env:
        faults = env.replicas[0].faults
        conflict, lost = faults.conflict(), faults.lose_response(name="a-2")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        write = await lost.hit()
        assert (conflict.hits, write.key) == (1, "default/a-2")
        assert await names_of(env) == ["a-1", "a-2"]
        await env.wait_for_idle(retries_within=60)
        assert env.writes == [
            "apply configmaps default/a-1 (409)",
            "apply configmaps default/a-1",
            "apply configmaps default/a-2 (no response)",
        ]
        assert steps == ["first", "first", "second"]


@in_virtual_time
async def test_the_client_itself_repeats_throttled_requests() -> None:
    steps = Steps()
    async with Environment(lambda: operator(steps)) as env:
        throttled = env.replicas[0].faults.throttle(times=2, nth=2)
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        codes = [write.code for write in env.writes]
        assert (codes, throttled.hits) == ([201, 429, 429, 201], 2)
        assert steps == ["first", "second"]


@in_virtual_time
async def test_skipped_and_repeated_requests_are_counted_from_the_creation_of_a_fault() -> None:
    steps = Steps()
    async with Environment(lambda: operator(steps)) as env:
        faults = env.replicas[0].faults
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        second = faults.fail(500, skip=1, times=2)
        first = faults.fail(503, nth=1)
        await env.client.core_v1.secrets("default").create(Secret.new("b"))
        await env.wait_for_idle(retries_within=60)
        assert (first.hits, second.hits) == (1, 2)
        assert [write.code for write in env.writes[2:]] == [503, 500, 500, 201, 201]


@in_virtual_time
async def test_the_test_acts_between_a_read_and_a_write() -> None:
    app, seen = masthead.Manager("racing"), list[object]()

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        live = await ctx.client.core_v1.secrets("default").get(secret.metadata.name)
        live.data = {"by": b"operator"}
        await ctx.client.core_v1.secrets("default").update(live)

    async with Environment(app) as env:

        async def edit() -> None:
            seen.append(current_reconcile())
            await env.client.core_v1.secrets("default").patch("a", masthead.Patch.merge({"data": {"by": "dXNlcg=="}}))

        called = env.replicas[0].faults.call(edit)
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        assert await called.hit() == "update secrets default/a (no response)"
        await env.wait_for_idle(retries_within=60)
        assert env.writes[:2] == ["update secrets default/a (409)", "update secrets default/a"]
        assert called.write == env.writes[0]
        assert seen == [None]


@in_virtual_time
async def test_a_successor_starts_in_the_middle_of_a_write() -> None:
    steps = Steps()

    def make() -> masthead.Manager:
        return operator(steps)

    async with Environment(make) as env:
        (replica,) = env.replicas

        async def replace() -> None:
            await replica.crash()
            await env.start(make)

        called = replica.faults.call(replace, when="stored")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await called.hit()
        await env.wait_for_idle()
        assert steps == ["first", "second"]
        assert [(write, write.replica) for write in env.writes] == [
            ("apply configmaps default/a-1 (no response)", "pair-0"),
            ("apply configmaps default/a-2", "pair-1"),
        ]


@in_virtual_time
async def test_a_function_after_an_answer_raises_at_the_test() -> None:
    async def complain() -> None:
        raise LookupError("where is it?")

    async with Environment(lambda: operator(Steps())) as env:
        called = env.replicas[0].faults.call(complain, when="answered")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        with pytest.raises(LookupError, match="where is it"):
            await called.hit()
        await env.wait_for_idle()


@in_virtual_time
async def test_a_delayed_request_takes_virtual_time() -> None:
    async with Environment(lambda: operator(Steps())) as env:
        delayed = env.replicas[0].faults.delay(30, name="a-2")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert (delayed.hits, env.now) == (1, 30)


@in_virtual_time
async def test_leases_and_events_do_not_count() -> None:
    app = masthead.Manager("recording", leader_election="recording")

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        ctx.record("Normal", "Seen", "it is there")

    async with Environment(app, leader_election_namespace="default") as env:
        faults = env.replicas[0].faults
        ordinary, leases = faults.fail(500), faults.fail(500, resource="leases")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.advance(10)
        await env.wait_for_idle()
        assert (ordinary.hits, leases.hits, env.events[1:]) == (0, 1, ["Normal Seen default/a: it is there"])
        faults.clear()


@in_virtual_time
async def test_a_fault_that_does_not_strike_says_what_came_near() -> None:
    async with Environment(lambda: operator(Steps())) as env:
        crash = env.replicas[0].faults.crash(name="a-3")
        third = env.replicas[0].faults.crash(nth=3)
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        with pytest.raises(FaultNotHitError) as caught:
            await crash.hit(timeout=5)
        assert str(caught.value).splitlines() == [
            "<ReplicaFault crash('stored', name='a-3'): 0 hits> has not struck within 5 s",
            "no request met its filters",
            "requests that met some of them:",
            "  apply configmaps default/a-1 by secrets default/a (other name)",
            "  apply configmaps default/a-2 by secrets default/a (other name)",
        ]
        with pytest.raises(FaultNotHitError, match="2 requests met its filters, and it strikes number 3"):
            await third.hit(timeout=5)
        assert env.now == 10
        crash.remove()
        third.remove()


@in_virtual_time
async def test_a_fault_that_could_never_strike_is_refused() -> None:
    async with Environment(lambda: operator(Steps())) as env:
        faults = env.replicas[0].faults
        with pytest.raises(TypeError, match="there is no filter 'nam'; there are verb, resource"):
            faults.crash(nam="a")  # type: ignore[call-arg]
        with pytest.raises(ValueError, match="there is no verb 'post'"):
            faults.crash(verb="post")
        with pytest.raises(ValueError, match="write resource='pods', subresource='status'"):
            faults.crash(resource="pods/status")
        with pytest.raises(ValueError, match="strikes at one of before, stored, answered, not at 'after'"):
            faults.crash("after")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="the first is number 1"):
            faults.crash(nth=0)
        with pytest.raises(TypeError, match="nth or skip"):
            faults.crash(nth=1, skip=1)
        with pytest.raises(ValueError, match="between 400 and 599, not 200"):
            faults.fail(200)
        with pytest.raises(ValueError, match="more than 0"):
            faults.delay(0)


@pytest.mark.asyncio
async def test_faults_work_in_real_time() -> None:
    steps = Steps()
    async with Environment(lambda: operator(steps)) as env:
        crash = env.replicas[0].faults.crash("answered")
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await crash.hit()
        await env.wait_for_idle()
        assert (steps, await names_of(env), env.replicas) == (["first"], ["a-1"], [])
        await env.start(lambda: operator(steps))
        await env.wait_for_idle()
        assert steps == ["first", "first", "second"]


def test_faults_of_a_blocking_environment() -> None:
    steps = Steps()
    with BlockingEnvironment() as env:
        replica = env.start(lambda: operator(steps, is_plain=True))
        secrets = env.client.core_v1.secrets("default")
        called = replica.faults.call(lambda: secrets.create(Secret.new("b")), key="default/a")
        crash = replica.faults.crash("stored", key="default/b", nth=2)
        secrets.create(Secret.new("a"))
        assert crash.hit().key == "default/b-2"
        assert (called.hits, crash.hits, replica.is_running) == (1, 1, False)
        env.wait_for_idle()


TARGETS = [
    ("GET", "/api/v1/namespaces/shop/pods/web", "get", "pods", "shop/web"),
    ("GET", "/api/v1/pods?limit=5", "list", "pods", ""),
    ("GET", "/apis/apps/v1/deployments?watch=true", "watch", "deployments.apps", ""),
    ("PUT", "/api/v1/namespaces/shop/status", "update", "namespaces/status", "shop"),
    ("DELETE", "/apis/apps/v1/namespaces/shop/deployments", "deletecollection", "deployments.apps", "shop"),
    ("GET", "/healthz", "get", "/healthz", ""),
    ("GET", "/api/v1", "get", "/api/v1", ""),
]


@pytest.mark.parametrize(("method", "target", "verb", "resource", "key"), TARGETS, ids=[row[1] for row in TARGETS])
def test_requests_are_located(method: str, target: str, verb: str, resource: str, key: str) -> None:
    request = TransportRequest(method, target)
    place = locate(request)
    assert (verb_of(request, place), place.resource, place.key) == (verb, resource, key)


@given(st.integers(1, 6), st.one_of(st.none(), st.integers(1, 6)), st.lists(st.booleans(), max_size=20))
def test_a_fault_strikes_from_the_nth_match_on(nth: int, times: int | None, matches: list[bool]) -> None:
    async def act(_: Exchange) -> None: ...

    trigger = FaultTrigger("fail", {"name": "a"}, "before", act, nth=nth, times=times)
    struck = []
    for number, is_match in enumerate(matches):
        place = RequestPlace("pods", name="a" if is_match else "b")
        if trigger.claims(FilteredRequest("create", place, "", "", is_upkeep=False)):
            struck.append(number)
    matching = [number for number, is_match in enumerate(matches) if is_match][nth - 1 :]
    assert struck == (matching if times is None else matching[:times])

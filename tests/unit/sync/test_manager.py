"""Plain reconcilers run in threads, with a context and a client that block."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead._meta.daemon_executor import DaemonExecutor
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ClosedError
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead._config.model import Config

WITHIN = 60.0
OFF: Any = {"metrics_bind": "0", "probe_bind": "0"}


def manager(seen: list[str]) -> masthead.Manager:
    app = masthead.Manager("threads")

    @app.controller(Secret, owns=[ConfigMap], finalizer="example.com/copy", workers=3, ignore_own_writes=True)
    def reconcile(ctx: masthead.ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result | None:
        seen.append(f"{threading.current_thread().name.rpartition('-')[0]} {ctx.request}")
        if ctx.finalize(lambda: seen.append(f"cleaned up {ctx.request}")):
            return None
        made = ctx.apply(ConfigMap.new(secret.metadata.name, data={"size": str(len(secret.data))}))
        assert ctx.get(ConfigMap, secret.metadata.name) == made
        assert ctx.client.core_v1.config_maps(ctx.request.namespace).get(secret.metadata.name) == made
        assert [each.metadata.name for each in ctx.owned(ConfigMap)] == [secret.metadata.name]
        ctx.record("Normal", "Copied", "copied")
        return masthead.controller.Result(requeue_after=3600)

    return app


@in_virtual_time
async def test_a_plain_reconciler_has_a_context_that_blocks() -> None:
    seen: list[str] = []
    async with Environment(manager(seen)) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("one", data={"a": b"1"}))
        await env.wait_for_idle()
        assert seen == ["masthead-reconcile default/one"]
        assert env.events == ["Normal Copied default/one: copied"]
        await secrets.delete("one")
        await env.wait_for_idle()
        assert seen[1:] == ["masthead-reconcile default/one", "cleaned up default/one"]
        assert [each.metadata.name for each in await secrets.list()] == []


def test_a_blocking_program_runs_a_manager_in_a_thread(kube_config: Config, kube_client: masthead.Client) -> None:
    seen: list[str] = []
    with manager(seen).running_in_thread(kube_config, **OFF):
        kube_client.core_v1.secrets("default").create(Secret.new("one"))
        made = kube_client.core_v1.config_maps("default").wait_for("one", masthead.conditions.exists(), timeout=WITHIN)
    assert made is not None
    assert seen == ["masthead-reconcile default/one"]


def test_a_stopped_manager_refuses_the_calls_of_a_thread_that_goes_on(
    kube_config: Config, kube_client: masthead.Client
) -> None:
    app = masthead.Manager("revoked")
    begun, stopped, ended = threading.Event(), threading.Event(), threading.Event()
    errors: list[BaseException] = []

    @app.controller(Secret)
    def reconcile(ctx: masthead.ReconcileContext[Secret], secret: Secret) -> None:
        begun.set()
        stopped.wait(WITHIN)
        try:
            ctx.apply(ConfigMap.new(secret.metadata.name))
        except ClosedError as error:
            errors.append(error)
        ended.set()

    class Cancelled(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "are cancelled" in record.getMessage():
                stopped.set()

    handler, log = Cancelled(), logging.getLogger("masthead.controller")
    log.addHandler(handler)
    kube_client.core_v1.secrets("default").create(Secret.new("one"))
    try:
        with app.running_in_thread(kube_config, graceful_timeout=0.01, **OFF):
            assert begun.wait(WITHIN)
    finally:
        log.removeHandler(handler)
    assert ended.wait(WITHIN)
    assert len(errors) == 1


def test_an_error_of_the_start_is_raised_to_the_caller() -> None:
    app = masthead.Manager("nothing")
    with pytest.raises(masthead.MastheadError, match="nothing to run"), app.running_in_thread():
        pass


def test_threads_of_a_pool_are_used_again() -> None:
    pool = DaemonExecutor("test", "call")
    names = [pool.submit(lambda: threading.current_thread().name).result(WITHIN)]
    # An idle thread is found only once it has come back.
    assert pool._idle.acquire(timeout=WITHIN)
    pool._idle.release()
    names.append(pool.submit(lambda: threading.current_thread().name).result(WITHIN))
    pool.shutdown()
    assert names == ["test-0", "test-0"]
    with pytest.raises(RuntimeError):
        pool.submit(print)

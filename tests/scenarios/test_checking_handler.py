"""The checking handler of all scenarios detects wrong notifications."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.scenarios.checking_handler import CheckingHandler, OnPurposeError, plain
from tests.scenarios.scenario import Handler

import masthead.aio
from masthead._cache.informer.informer import SharedInformer
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def some(version: int, *, uid: str = "u", name: str = "some") -> ConfigMap:
    about = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return ConfigMap.from_dict({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about})


WRITTEN = {
    (uid, str(version)): plain(some(version, uid=uid, name=name))
    for uid, name in (("u", "some"), ("v", "some"), ("w", "other"))
    for version in range(1, 9)
}


@contextlib.asynccontextmanager
async def handler(plan: Handler | None = None) -> AsyncIterator[CheckingHandler]:
    async with masthead.aio.Client(Config(server="http://127.0.0.1:1")) as client:
        informer: SharedInformer[Any] = SharedInformer(client.core_v1.config_maps())
        made = CheckingHandler(plan or Handler("judge"), informer, WRITTEN, is_ordered=True)
        made.registration = informer.add_event_handler(made)
        yield made
        await informer.stop()


@in_virtual_time
async def test_a_correct_sequence_of_notifications_has_no_problems() -> None:
    async with handler() as checking:
        checking.on_add(some(1), True)
        checking.on_update(some(1), some(2))
        checking.on_delete(some(3), True)
        checking.on_add(some(4, uid="v"), False)
        assert checking.problems == []
        assert list(checking.known) == ["default/some"]


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ([("add", some(1)), ("add", some(1))], "which it knows"),
        ([("update", some(1), some(2))], "which it does not know"),
        ([("delete", some(1), True)], "which it does not know"),
        ([("add", some(1)), ("update", some(2), some(3))], "from 2, where it knew 1"),
        ([("add", some(1)), ("update", some(1), some(2, uid="v"))], "makes another object of it"),
        ([("add", some(1)), ("delete", some(2, uid="v"), True)], "of another object"),
        ([("add", some(3)), ("update", some(3), some(2))], "went back from 3 to 2"),
        ([("add", some(9))], "never had like that"),
        (
            [("add", some(1)), ("add", some(1, uid="w", name="other")), ("delete", some(1), False)],
            "dispatched after its adds",
        ),
    ],
)
def test_wrong_notifications_are_reported(calls: list[tuple[str, *tuple[object, ...]]], problem: str) -> None:
    @in_virtual_time
    async def run_scenario() -> None:
        async with handler() as checking:
            for call, *args in calls:
                getattr(checking, f"on_{call}")(*args, *((False,) if call == "add" else ()))
            assert [problem in each for each in checking.problems] == [True]

    run_scenario()


@in_virtual_time
async def test_overlapping_calls_are_reported() -> None:
    async with handler(Handler("slow", takes=5.0)) as checking:
        first = checking.on_add(some(1), False)
        second = checking.on_update(some(1), some(2))
        for each in (first, second):
            await each  # type: ignore[misc]
        assert ["while another is under way" in problem for problem in checking.problems] == [True]


@in_virtual_time
async def test_a_handler_that_must_fail_still_records_the_notification() -> None:
    async with handler(Handler("failing", fails_every=2)) as checking:
        checking.on_add(some(1), False)
        with pytest.raises(OnPurposeError):
            checking.on_update(some(1), some(2))
        assert checking.known["default/some"].metadata.resource_version == "2"

"""What a pod's status says about its logs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from masthead._client.log_pods import AfterEnd, ContainerFilter, after_end, view_of
from masthead._meta.unstructured import Unstructured
from masthead.errors import DecodeError

SECOND = 10**9
STARTED = {"running": {"startedAt": "1970-01-01T00:00:10Z"}}
CRASHED = {"terminated": {"exitCode": 1}}
DONE = {"terminated": {"exitCode": 0}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def view(*statuses: dict[str, Any], phase: str = "Running", policy: str = "Always", **metadata: Any) -> Any:
    made = {
        "metadata": {"name": "web", "namespace": "shop", **metadata},
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": "app"}, {"name": "side"}],
            "initContainers": [{"name": "init"}, {"name": "sidecar", "restartPolicy": "Always"}],
            "ephemeralContainers": [{"name": "debug"}],
        },
        "status": {"phase": phase, "containerStatuses": list(statuses)},
    }
    return view_of(Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", **made}))


def status(state: dict[str, Any], last: dict[str, Any] | None = None, name: str = "app") -> dict[str, Any]:
    return {"name": name, "state": state, "lastState": last or {}}


@pytest.mark.parametrize(
    ("pod", "expected", "with_restarts"),
    [
        (None, AfterEnd.END, AfterEnd.END),
        (view(status(STARTED)), AfterEnd.RESUME, AfterEnd.RESUME),
        (view(status({"running": {"startedAt": "1970-01-01T00:00:21Z"}})), AfterEnd.END, AfterEnd.RESUME),
        (view(status({"running": {}})), AfterEnd.RESUME, AfterEnd.RESUME),
        (view(status(CRASHED)), AfterEnd.END, AfterEnd.WAIT),
        (view(status(DONE)), AfterEnd.END, AfterEnd.WAIT),
        (view(status(DONE), policy="OnFailure"), AfterEnd.END, AfterEnd.END),
        (view(status(CRASHED), policy="OnFailure"), AfterEnd.END, AfterEnd.WAIT),
        (view(status(CRASHED), policy="Never"), AfterEnd.END, AfterEnd.END),
        (view(status(CRASHED), deletionTimestamp="1970-01-01T00:00:30Z"), AfterEnd.END, AfterEnd.END),
        (view(status(WAITING, CRASHED)), AfterEnd.END, AfterEnd.WAIT),
        (view(status(WAITING)), AfterEnd.WAIT, AfterEnd.WAIT),
        (view(phase="Pending"), AfterEnd.WAIT, AfterEnd.WAIT),
        (view(phase="Failed"), AfterEnd.END, AfterEnd.END),
        (view(status(CRASHED), phase="Failed"), AfterEnd.END, AfterEnd.END),
    ],
)
def test_the_end_of_a_stream_is_the_end_of_a_log_if_the_container_has_ended(
    pod: Any, expected: AfterEnd, with_restarts: AfterEnd
) -> None:
    for name in ("app", ""):
        assert after_end(pod, name, 20 * SECOND, restarts=False) is expected
        assert after_end(pod, name, 20 * SECOND, restarts=True) is with_restarts


def test_before_its_first_line_a_log_is_of_whatever_runs() -> None:
    assert after_end(view(status(STARTED)), "app", None, restarts=False) is AfterEnd.RESUME


@pytest.mark.parametrize(
    ("name", "exit_code", "expected"),
    [
        ("init", 0, False),
        ("init", 1, True),
        ("sidecar", 0, True),
        ("debug", 1, False),
        ("side", 0, True),
    ],
)
def test_containers_of_each_sort_are_started_again_as_kubernetes_does(
    name: str, exit_code: int, expected: bool
) -> None:
    assert view().restarts(name, exit_code) is expected


def test_containers_are_chosen_in_the_order_in_which_they_run() -> None:
    def chosen(given: Any, *, init: bool = False, ephemeral: bool = False) -> list[str]:
        return list(ContainerFilter.of(given, init=init, ephemeral=ephemeral).chosen(view()))

    assert chosen(None) == ["app", "side"]
    assert chosen(None, init=True, ephemeral=True) == ["init", "sidecar", "app", "side", "debug"]
    assert chosen("side") == ["side"]
    assert chosen({"side", "init"}) == ["side"]
    assert chosen(re.compile("side.*"), init=True) == ["sidecar", "side"]
    assert chosen([]) == []


def test_what_is_no_pod_is_an_error() -> None:
    odd = Unstructured.from_dict(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": 3}}
    )
    with pytest.raises(DecodeError, match='Pod "web"'):
        view_of(odd)

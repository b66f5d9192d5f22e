"""The usage in the status of quotas, compared with that of kube-controller-manager beside a real server.

The quotas are so large that nothing is refused: kube-controller-manager releases deleted objects in its own time, and
only the final usage is the same.

``MASTHEAD_CONTROLLER_MANAGER`` is the path of the program, without which the test is skipped;
``MASTHEAD_QUOTA_SEQUENCES`` says how many sequences, ``MASTHEAD_QUOTA_SEED`` which.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack, contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, real_target
from tests.real.quota_sequences import QuotaSequence
from tests.real.test_quotas_against_a_real_server import (
    COUNT,
    LENGTH,
    SEED,
    api_in,
    remove_services_at_the_end,
    send,
)
from tests.real_server import wait_until

import masthead.server
from masthead import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conformance.api import Api
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real"), pytest.mark.timeout(3600)]

PROGRAM = os.environ.get("MASTHEAD_CONTROLLER_MANAGER", "")
BATCH = 20
"""Sequences that run before their usage is compared, so that one wait serves all."""


@contextmanager
def controller_manager(server: RealServer, folder: Path) -> Iterator[None]:
    """Run the quota controller of kube-controller-manager."""
    kubeconfig = folder / "kubeconfig"
    cluster = {"server": server.url, "certificate-authority": str(server.ca_file)}
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "real", "cluster": cluster}],
                "users": [{"name": "admin", "user": {"token": server.token}}],
                "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
                "current-context": "real",
            }
        ),
        "utf-8",
    )
    paths = [f"--{side}kubeconfig={kubeconfig}" for side in ("", "authentication-", "authorization-")]
    options = ["--controllers=resourcequota-controller", "--resource-quota-sync-period=2s", "--leader-elect=false"]
    with (folder / "log").open("wb") as log:
        command = [PROGRAM, *paths, *options, "--secure-port=0", "--use-service-account-credentials=false"]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def usage(api: Api) -> dict[str, Any]:
    _, found = api.quietly("GET", api.path("resourcequotas"))
    return {
        item["metadata"]["name"]: {
            side: {name: Quantity(value) for name, value in item.get("status", {}).get(side, {}).items()}
            for side in ("hard", "used")
        }
        for item in found["items"]
    }


def is_same(real: Api, ours: Api) -> bool:
    return usage(real) == usage(ours)


def run_sequence(number: int, real: Api, ours: Api) -> None:
    sequence = QuotaSequence(Random(f"{SEED} {number}"), ours.namespace, is_generous=True)
    for quota in sequence.quotas():
        for api in (real, ours):
            code, made = api.quietly("POST", api.path("resourcequotas"), quota)
            assert code == 201, made
    # Until then, pods need not specify what the quotas limit.
    assert wait_until(partial(is_same, real, ours), within=20), (usage(real), usage(ours))
    steps = sequence.steps(LENGTH)
    for api in (real, ours):
        remove_services_at_the_end(api, steps)
    for step in steps:
        assert send(real, step)[0] == send(ours, step)[0], step


@pytest.mark.skipif(not PROGRAM, reason="MASTHEAD_CONTROLLER_MANAGER names no kube-controller-manager")
def test_usage_is_that_of_kube_controller_manager(real_server: RealServer, tmp_path: Path) -> None:
    real = real_target(real_server)
    with controller_manager(real_server, tmp_path), masthead.server.run(controllers=["resourcequotas"]) as server:
        ours = Target(server.url, server.token or "", server.compact)
        for first in range(0, COUNT, BATCH):
            with ExitStack() as stack:
                apis = {
                    number: tuple(
                        stack.enter_context(api_in(target, f"usage-{SEED}-{number}")) for target in (real, ours)
                    )
                    for number in range(first, min(first + BATCH, COUNT))
                }
                for number, pair in apis.items():
                    run_sequence(number, *pair)
                for number, pair in apis.items():
                    found = [usage(api) for api in pair]
                    assert wait_until(partial(is_same, *pair), within=20), f"sequence {number}: real, ours: {found}"

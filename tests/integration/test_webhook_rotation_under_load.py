"""A webhook whose certificate rotates under a load of 200 creates per second: no request fails."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment
from masthead.webhook import AdmissionRequest, RotationPolicy

pytestmark = pytest.mark.slow

CENTURY = timedelta(days=36_525)
CREATES = 1_000
PER_SECOND = 200
WORKERS = 8
PROPAGATION = timedelta(seconds=1)


def make_manager() -> masthead.Manager:
    policy = RotationPolicy(
        authority_validity=CENTURY,
        certificate_validity=CENTURY,
        renew_before=1 - 2 * PROPAGATION / CENTURY,
        propagation=PROPAGATION,
        backdate=CENTURY / 4,
    )
    app = masthead.Manager("load", webhook_certificates=policy)

    @app.mutate(ConfigMap)
    async def mark(_: AdmissionRequest[ConfigMap], config: ConfigMap) -> None:
        config.metadata.labels["seen"] = "yes"

    return app


async def test_no_create_fails_while_the_certificate_rotates() -> None:
    async with Environment(make_manager, make_manager) as env:
        loop = asyncio.get_running_loop()
        maps, secrets = env.client.resource(ConfigMap, "default"), env.client.resource(Secret, "default")
        certificates: set[bytes] = set()
        began, created = loop.time(), 0

        async def create_all(worker: int) -> None:
            nonlocal created
            number = worker
            # At least so many, and until authority and certificate have been replaced twice.
            while number < CREATES or len(certificates) < 3:
                await asyncio.sleep(max(0.0, began + number / PER_SECOND - loop.time()))
                stored = await maps.create(ConfigMap.new(f"m{number}"))
                assert stored.metadata.labels == {"seen": "yes"}
                number += WORKERS
                created += 1

        async def look() -> None:
            while True:
                certificates.add((await secrets.get("load-webhook")).data["tls.crt"])
                await asyncio.sleep(0.2)

        looking = loop.create_task(look())
        async with asyncio.TaskGroup() as group:
            for worker in range(WORKERS):
                group.create_task(create_all(worker))
        looking.cancel()
        assert created >= CREATES
        assert len(certificates) >= 3

"""The incident of examples/incident, replayed against the Website operator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from examples.website.website import Website, app

from masthead.api.core.v1 import Pod
from masthead.meta import is_condition_true
from masthead.recording import Recording
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Iterator

INCIDENT = Path(__file__).parents[2] / "examples" / "incident" / "incident.mhr"


@pytest.fixture
def recording() -> Iterator[Recording]:
    """The incident."""
    with Recording(INCIDENT) as found:
        yield found


@in_virtual_time
async def test_a_site_is_not_up_while_its_rollout_is_stuck() -> None:
    async with Environment(app, recording=INCIDENT) as env:
        sites = env.client.resource(Website, "shop")
        await env.play("+15s")
        assert is_condition_true((await sites.get("shop")).status.conditions, "Ready")
        await env.play("+40s")
        site = await sites.get("shop")
        assert site.spec.image == "registry.example.com/shop:2.1"
        assert not is_condition_true(site.status.conditions, "Ready")
        await env.play()
        assert is_condition_true((await sites.get("shop")).status.conditions, "Ready")


def test_the_recorded_operator_said_that_the_site_was_up(recording: Recording) -> None:
    # This is what the walk-through finds, and what the operator does not do any more.
    states = {obj.metadata.name: obj for obj in recording.at("+40s").objects(Website.GVK)}
    site = Website.from_dict(states["shop"].to_dict())
    assert is_condition_true(site.status.conditions, "Ready")
    waiting = [
        status.state.waiting.reason
        for obj in recording.at("+40s").objects(Pod.GVK)
        for status in Pod.from_dict(obj.to_dict()).status.container_statuses
        if status.state.waiting is not None
    ]
    assert set(waiting) <= {"ErrImagePull", "ImagePullBackOff"}
    assert waiting


def test_every_change_of_the_site_has_its_author(recording: Recording) -> None:
    changes = recording.history(Website, "shop", "shop")
    images = [field for change in changes for field in change.fields() if field.path == "spec.image"]
    assert [(field.after, field.manager) for field in images] == [
        ("registry.example.com/shop:2.1", "deploy-pipeline"),
        ("registry.example.com/shop:2.0", "kubectl-edit"),
    ]


def test_the_reconciles_say_why_they_ran(recording: Recording) -> None:
    triggers = [reconcile.trigger for reconcile in recording.reconciles("websites") if reconcile.key == "shop/shop"]
    assert {"spec.image"} in [set(trigger.get("fields", ())) for trigger in triggers]  # type: ignore[call-overload]
    assert not recording.gaps

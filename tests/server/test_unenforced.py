"""Objects that are stored and have no effect: the log says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import masthead
import masthead.server
from masthead.api.core.v1 import ConfigMap, LimitRange

if TYPE_CHECKING:
    import pytest


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "masthead.server"]


def test_the_first_limit_range_is_warned_of_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        ranges = client.core_v1.limit_ranges("default")
        for name in ("first", "second"):
            ranges.create(LimitRange.new(name))
    assert messages(caplog) == [
        (
            "A LimitRange is stored, but has no effect on this server: "
            "pods get no defaults from it, and none is refused for its limits."
        )
    ]


def test_nothing_is_said_of_objects_that_have_an_effect(caplog: pytest.LogCaptureFixture) -> None:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        client.core_v1.config_maps("default").create(ConfigMap.new("a"))
    assert messages(caplog) == []

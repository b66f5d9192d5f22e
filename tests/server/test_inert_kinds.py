"""Objects that are stored and have no effect: the log says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import masthead
import masthead.server
from masthead.api.batch.v1 import Job, JobSpec
from masthead.api.core.v1 import ConfigMap, Container, LimitRange, PodSpec, PodTemplateSpec

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


def test_who_creates_a_job_is_warned_that_it_does_not_run(caplog: pytest.LogCaptureFixture) -> None:
    warnings: list[str] = []
    with (
        masthead.server.run(workloads=True, kubelet=True) as server,
        masthead.Client(
            kubeconfig=server.kubeconfig(), on_warning=lambda warning: warnings.append(warning.text)
        ) as client,
    ):
        template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="a", image="b")], restart_policy="Never"))
        client.batch_v1.jobs("default").create(Job.new("task", spec=JobSpec(template=template)))
        client.core_v1.config_maps("default").create(ConfigMap.new("a"))

    (said,) = warnings
    assert said.startswith("jobs have no effect on this server: it gets no pods, and never completes. ")
    assert "kube-controller-manager" in said
    assert messages(caplog) == [
        "A Job is stored, but has no effect on this server: it gets no pods, and never completes."
    ]


def test_a_server_that_runs_no_workloads_says_nothing_of_jobs(caplog: pytest.LogCaptureFixture) -> None:
    caller_warnings: list[str] = []
    with (
        masthead.server.run() as server,
        masthead.Client(
            kubeconfig=server.kubeconfig(), on_warning=lambda warning: caller_warnings.append(warning.text)
        ) as client,
    ):
        template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="a", image="b")], restart_policy="Never"))
        client.batch_v1.jobs("default").create(Job.new("task", spec=JobSpec(template=template)))

    assert (caller_warnings, messages(caplog)) == ([], [])

"""Objects that are stored and have no effect: the response and the log say so."""

from __future__ import annotations

import pytest

import masthead
import masthead.server
from masthead.api.autoscaling.v2 import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
)
from masthead.api.batch.v1 import CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec
from masthead.api.core.v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from masthead.api.networking.v1 import NetworkPolicy
from masthead.api.policy.v1 import PodDisruptionBudget
from masthead.api.rbac.v1 import Role


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "masthead.server"]


def test_every_network_policy_is_warned_of_and_the_first_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    warnings: list[str] = []
    with (
        masthead.server.run() as server,
        masthead.Client(
            kubeconfig=server.kubeconfig(), on_warning=lambda warning: warnings.append(warning.text)
        ) as client,
    ):
        policies = client.networking_v1.network_policies("default")
        for name in ("first", "second"):
            policies.create(NetworkPolicy.new(name))

    text = "networkpolicies.networking.k8s.io have no effect on this server: no traffic is filtered"
    assert (warnings, messages(caplog)) == ([text, text], [text])


def test_who_creates_a_disruption_budget_is_warned_that_evictions_ignore_it() -> None:
    warnings: list[str] = []
    with (
        masthead.server.run() as server,
        masthead.Client(
            kubeconfig=server.kubeconfig(), on_warning=lambda warning: warnings.append(warning.text)
        ) as client,
    ):
        client.policy_v1.pod_disruption_budgets("default").create(PodDisruptionBudget.new("web"))

    problem = "their status is not computed, and evictions ignore them without one"
    assert warnings == [f"poddisruptionbudgets.policy have no effect on this server: {problem}"]


def test_budgets_that_a_named_controller_counts_have_an_effect(caplog: pytest.LogCaptureFixture) -> None:
    with (
        masthead.server.run(controllers=("disruption",)) as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        client.policy_v1.pod_disruption_budgets("default").create(PodDisruptionBudget.new("web"))

    assert messages(caplog) == []


def test_a_server_without_controllers_leaves_all_kinds_to_other_programs(caplog: pytest.LogCaptureFixture) -> None:
    warnings: list[str] = []
    with (
        masthead.server.run(controllers=False, workloads=False) as server,
        masthead.Client(
            kubeconfig=server.kubeconfig(), on_warning=lambda warning: warnings.append(warning.text)
        ) as client,
    ):
        client.networking_v1.network_policies("default").create(NetworkPolicy.new("first"))

    assert (warnings, messages(caplog)) == ([], [])


def test_the_start_of_a_server_logs_no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    with masthead.server.run():
        pass
    assert messages(caplog) == []


def test_nothing_is_said_of_objects_that_have_an_effect(caplog: pytest.LogCaptureFixture) -> None:
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        client.core_v1.config_maps("default").create(ConfigMap.new("a"))
    assert messages(caplog) == []


def test_nothing_is_said_of_cron_jobs_and_autoscalers_that_run(caplog: pytest.LogCaptureFixture) -> None:
    with masthead.server.run(workloads=True) as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="a", image="b")], restart_policy="Never"))
        jobs = JobTemplateSpec(spec=JobSpec(template=template))
        spec = CronJobSpec(schedule="@yearly", job_template=jobs)
        client.batch_v1.cron_jobs("default").create(CronJob.new("task", spec=spec))
        target = CrossVersionObjectReference(api_version="apps/v1", kind="Deployment", name="web")
        scaled = HorizontalPodAutoscalerSpec(scale_target_ref=target, max_replicas=3)
        client.autoscaling_v2.horizontal_pod_autoscalers("default").create(
            HorizontalPodAutoscaler.new("web", spec=scaled)
        )
    assert messages(caplog) == []


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


@pytest.mark.parametrize(("authorization", "count"), [("always-allow", 1), ("rbac", 0), ("node,rbac", 0)])
def test_roles_have_no_effect_unless_they_are_enforced(authorization: str, count: int) -> None:
    warnings: list[str] = []
    with (
        masthead.server.run(authorization=authorization) as server,
        masthead.Client(
            kubeconfig=server.kubeconfig(), on_warning=lambda warning: warnings.append(warning.text)
        ) as client,
    ):
        client.rbac_v1.roles("default").create(Role.new("reader"))

    text = 'everyone may do everything. To enforce them, start it with authorization="rbac" (--authorization rbac).'
    assert warnings == [f"roles.rbac.authorization.k8s.io have no effect on this server: {text}"] * count

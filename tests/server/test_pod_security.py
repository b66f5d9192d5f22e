"""The checks of the Pod Security Standards, as pure decisions."""

from __future__ import annotations

from random import Random

import pytest
from tests.server.random_pods import Plain, RandomPods

from masthead_server.admission.plugins.pod_security import warn_of_pods
from masthead_server.admission.podsecurity.evaluation import NEWEST_MINOR, describe, evaluate
from masthead_server.admission.podsecurity.policy import LABEL_PREFIX, Level, LevelVersion, parse_policy

PODS = 300
VERSIONS = (*range(NEWEST_MINOR + 2), None)


def judge(level: Level, minor: int | None, pod: Plain) -> set[str]:
    """Return the reasons for which a pod is refused."""
    return {violation.reason for violation in evaluate(LevelVersion(level, minor), pod["metadata"], pod["spec"])}


def random_pods() -> list[Plain]:
    pods = RandomPods(Random(5))
    return [pods.make() for _ in range(PODS)]


def labels(**modes: str) -> dict[str, str]:
    return {LABEL_PREFIX + mode.replace("_", "-"): value for mode, value in modes.items()}


def test_privileged_refuses_nothing() -> None:
    assert not any(judge(Level.PRIVILEGED, minor, pod) for pod in random_pods()[:50] for minor in VERSIONS)


def test_restricted_refuses_what_baseline_refuses() -> None:
    refused = 0
    for pod in random_pods():
        for minor in VERSIONS:
            if judge(Level.BASELINE, minor, pod):
                refused += 1
                assert judge(Level.RESTRICTED, minor, pod), (minor, pod)
    assert 0 < refused < PODS * len(VERSIONS)


def test_versions_after_the_newest_are_like_the_newest() -> None:
    for pod in random_pods():
        for level in Level:
            newest = judge(level, NEWEST_MINOR, pod)
            assert judge(level, None, pod) == judge(level, NEWEST_MINOR + 50, pod) == newest


def test_a_pod_without_anything_bad_stays_admitted_with_more_good_containers() -> None:
    good = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True}
    container = {"name": "good", "securityContext": {**good, "seccompProfile": {"type": "RuntimeDefault"}}}
    for pod in random_pods():
        before = judge(Level.RESTRICTED, None, pod)
        pod["spec"]["containers"].append(container)
        assert judge(Level.RESTRICTED, None, pod) == before


def test_every_violation_is_described() -> None:
    for pod in random_pods():
        found = evaluate(LevelVersion(Level.RESTRICTED), pod["metadata"], pod["spec"])
        assert all(violation.reason and violation.detail for violation in found)
        assert describe(found) == ", ".join(f"{reason} ({detail})" for reason, detail in found)


def test_labels_make_a_policy() -> None:
    policy, errors = parse_policy(labels(enforce="baseline", enforce_version="v1.20", audit="restricted"))

    assert not errors
    assert str(policy.enforce) == "baseline:v1.20"
    assert str(policy.audit) == "restricted:latest"


@pytest.mark.parametrize(
    ("modes", "warn"),
    [
        pytest.param({"enforce": "baseline", "enforce_version": "v1.20"}, "baseline:v1.20", id="as enforced"),
        pytest.param({"enforce": "baseline", "warn_version": "v1.7"}, "baseline:v1.7", id="with its own version"),
        pytest.param({"enforce": "baseline", "warn": "privileged"}, "privileged:latest", id="as its label says"),
        pytest.param({"enforce": "nonsense"}, "privileged:latest", id="not at all after a mistake"),
        pytest.param({"warn": "nonsense"}, "privileged:latest", id="not at all after its own mistake"),
    ],
)
def test_warnings_follow_the_enforced_level(modes: dict[str, str], warn: str) -> None:
    assert str(parse_policy(labels(**modes))[0].warn) == warn


def test_a_mistake_in_a_label_enforces_the_strictest_level() -> None:
    policy, errors = parse_policy(labels(enforce="nonsense", enforce_version="x"))

    assert str(policy.enforce) == "restricted:latest"
    assert [error.field for error in errors] == [
        "metadata.labels[pod-security.kubernetes.io/enforce]",
        "metadata.labels[pod-security.kubernetes.io/enforce-version]",
    ]


def bad_pod(name: str, owner: str = "") -> Plain:
    owners = [{"uid": owner, "controller": True}] if owner else []
    return {"metadata": {"name": name, "ownerReferences": owners}, "spec": {"hostPID": True, "containers": []}}


def test_pods_with_the_same_violations_share_a_warning() -> None:
    mode = LevelVersion(Level.BASELINE)
    pods = [bad_pod("c"), bad_pod("a"), bad_pod("b")]

    assert warn_of_pods("n", mode, pods[:1])[1:] == ["c: host namespaces"]
    assert warn_of_pods("n", mode, pods[:2])[1:] == ["a (and 1 other pod): host namespaces"]
    assert warn_of_pods("n", mode, pods)[1:] == ["a (and 2 other pods): host namespaces"]


def test_only_some_pods_are_checked_and_first_one_of_each_controller() -> None:
    replicas = [bad_pod(f"r{number:05}", "x") for number in range(3000)]
    first, second, third = warn_of_pods("n", LevelVersion(Level.BASELINE), [*replicas, bad_pod("z")])

    assert first.endswith("only checked against the first 3000 of 3001 existing pods")
    assert second == 'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"'
    assert third == "r00000 (and 2999 other pods): host namespaces"

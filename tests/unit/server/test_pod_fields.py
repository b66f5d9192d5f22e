"""Fields of pods that the server changes itself: label keys, and fields whose features are off."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.resources.builtin.batch.job.template_changes import template_changes
from masthead_server.resources.builtin.core.pod.label_keys import merge_label_keys
from masthead_server.resources.defaulting.disabled_pod_fields import drop_disabled_fields

Plain = dict[str, Any]

KEYS = st.lists(st.sampled_from("abc"), unique=True)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES: Plain = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": []}]}}}


def pod_near(term: Plain, labels: dict[str, str]) -> Plain:
    return {"metadata": {"labels": labels}, "spec": {"affinity": {"podAffinity": {REQUIRED: [term]}}}}


@given(KEYS, KEYS, st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")))
def test_each_label_key_of_a_pod_becomes_one_requirement(
    matched: list[str], mismatched: list[str], labels: dict[str, str]
) -> None:
    term: Plain = {"labelSelector": {}, "matchLabelKeys": matched, "mismatchLabelKeys": mismatched}

    merge_label_keys(pod_near(term, labels))

    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for operator, keys in (("In", matched), ("NotIn", mismatched))
        for key in keys
        if key in labels
    ]
    assert term["labelSelector"].get("matchExpressions", []) == added


def test_a_selector_that_a_template_shares_with_its_pods_is_not_changed() -> None:
    selector: Plain = {"matchLabels": {"a": "b"}}

    merge_label_keys(pod_near({"labelSelector": selector, "matchLabelKeys": ["a"]}, {"a": "b"}))

    assert selector == {"matchLabels": {"a": "b"}}


def test_a_term_without_a_selector_gets_none() -> None:
    term: Plain = {"matchLabelKeys": ["a"]}

    merge_label_keys(pod_near(term, {"a": "b"}))

    assert term == {"matchLabelKeys": ["a"]}


GATED: dict[str, Plain] = {
    "a group": {"schedulingGroup": {"podGroupName": "a"}},
    "a signal": {"containers": [{"name": "a", "lifecycle": {"stopSignal": "SIGTERM"}}]},
    "a bundle": {"volumes": [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}]},
    "a certificate": {"volumes": [{"name": "v", "projected": {"sources": [{"podCertificate": {"keyPath": "p"}}]}}]},
}


@pytest.mark.parametrize("spec", GATED.values(), ids=GATED)
def test_a_field_whose_feature_is_off_stays_only_where_it_is_stored(spec: Plain) -> None:
    new, kept = copy.deepcopy(spec), copy.deepcopy(spec)

    drop_disabled_fields(new, None)
    drop_disabled_fields(kept, spec)

    assert new != spec
    assert kept == spec


def test_hooks_beside_a_stop_signal_stay() -> None:
    hook = {"sleep": {"seconds": 1}}
    spec: Plain = {"containers": [{"name": "a", "lifecycle": {"stopSignal": "SIGTERM", "preStop": hook}}]}

    drop_disabled_fields(spec, None)

    assert spec == {"containers": [{"name": "a", "lifecycle": {"preStop": hook}}]}


CHANGES: dict[str, Plain] = {
    "resources": {"containers": [{"name": "a", "image": "a", "resources": {"limits": {"cpu": "1"}}}]},
    "nodes": {"affinity": NODES},
    "a selector": {"nodeSelector": {"a": "b"}},
    "gates": {"schedulingGates": [{"name": "a"}]},
}
TEMPLATE: Plain = {"spec": {"containers": [{"name": "a", "image": "a"}], "affinity": {"podAffinity": {REQUIRED: []}}}}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_template_of_a_job_without_pods_takes_resources_and_directives(change: Plain) -> None:
    spec = {**TEMPLATE["spec"], **change}
    if "affinity" in change:
        spec["affinity"] = {**TEMPLATE["spec"]["affinity"], **NODES}

    assert not template_changes({"spec": spec}, TEMPLATE, is_idle=True)
    assert [error.field for error in template_changes({"spec": spec}, TEMPLATE, is_idle=False)] == ["spec.template"]


@pytest.mark.parametrize(
    "change",
    [{"containers": [{"name": "a", "image": "b"}]}, {"affinity": {}}, {"containers": [{"name": "b", "image": "a"}]}],
    ids=["an image", "affinity to pods", "a name"],
)
def test_the_rest_of_a_job_s_template_never_changes(change: Plain) -> None:
    changed = {"spec": {**TEMPLATE["spec"], **change}}

    assert [error.field for error in template_changes(changed, TEMPLATE, is_idle=True)] == ["spec.template.spec"]

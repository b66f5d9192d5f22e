"""The texts of differences, and what they hide."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from masthead._client.apply_results import ApplyResult, outcome_of
from masthead._client.diffs import DiffResult, ObjectDiff
from masthead._meta.unstructured import Unstructured


def obj(kind: str = "ConfigMap", *, metadata: dict[str, Any] | None = None, **sections: Any) -> Unstructured:
    meta = {"name": "a", "namespace": "n", **(metadata or {})}
    return Unstructured.from_dict({"apiVersion": "v1", "kind": kind, "metadata": meta, **sections})


def test_a_difference_is_a_unified_diff_of_sorted_yaml() -> None:
    diff = ObjectDiff(obj(data={"b": "1", "a": "x"}), obj(data={"a": "z", "b": "1"}))

    assert diff.outcome == "changed"
    assert diff.format(color=False, context=1) == (
        "diff -u -N LIVE/v1.ConfigMap.n.a MERGED/v1.ConfigMap.n.a\n"
        "--- LIVE/v1.ConfigMap.n.a\n"
        "+++ MERGED/v1.ConfigMap.n.a\n"
        "@@ -2,3 +2,3 @@\n"
        " data:\n"
        "-  a: x\n"
        "+  a: z\n"
        "   b: '1'\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (None, obj(), "created"),
        (obj(), None, "pruned"),
        (obj(), obj(), "unchanged"),
        (obj(), obj(metadata={"managedFields": [{"manager": "x"}]}), "unchanged"),
    ],
)
def test_outcomes_of_a_difference(before: Unstructured | None, after: Unstructured | None, outcome: str) -> None:
    diff = DiffResult([ObjectDiff(before, after)])

    assert diff[0].outcome == outcome
    assert diff.has_changes == (outcome != "unchanged") == bool(diff.text)


def test_colors_are_those_of_a_terminal_if_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    diff = DiffResult([ObjectDiff(obj(data={"a": "x"}), obj(data={"a": "z"}))])
    colored = diff.format(color=True)

    assert "\x1b[31m-  a: x\x1b[0m\n" in colored
    assert "\x1b[32m+  a: z\x1b[0m\n" in colored
    assert "\x1b[1m--- LIVE/v1.ConfigMap.n.a\x1b[0m\n" in colored
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert diff.format() == colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in diff.format()


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_values_of_secrets_are_masked_everywhere() -> None:
    before = obj(
        "Secret",
        data={"same": "c2FtZQ==", "changed": "b25l", "gone": "dHdv"},
        metadata={"annotations": {LAST_APPLIED: '{"data":{"changed":"b25l"}}', "note": "seen"}},
    )
    after = obj(
        "Secret",
        data={"same": "c2FtZQ==", "changed": "dGhyZWU=", "new": "Zm91cg=="},
        metadata={"annotations": {LAST_APPLIED: '{"data":{"changed":"dGhyZWU="}}', "note": "seen"}},
    )
    text = ObjectDiff(before, after).format(color=False, context=99)

    assert not any(value in text for value in ("c2FtZQ", "b25l", "dHdv", "dGhyZWU", "Zm91cg"))
    lines = text.splitlines()
    assert "-  changed: '*** (before)'" in lines
    assert "+  changed: '*** (after)'" in lines
    assert "-  gone: '***'" in lines
    assert "+  new: '***'" in lines
    assert "   same: '***'" in lines
    assert "     note: seen" in lines
    assert "dGhyZWU=" in ObjectDiff(before, after).format(color=False, show_secrets=True)
    assert before["data"]["gone"] == "dHdv"


def test_a_pruned_secret_is_masked_too() -> None:
    text = ObjectDiff(obj("Secret", data={"a": "b25l"}), None).text

    assert "-  a: '***'\n" in text


def test_outcomes_of_an_apply() -> None:
    old = obj(metadata={"resourceVersion": "1"})
    new = obj(metadata={"resourceVersion": "2"}, data={"a": "b"})
    taken_over = obj(metadata={"resourceVersion": "2", "managedFields": [{"manager": "x"}]})

    assert outcome_of(None, new, is_dry_run=False) == "created"
    assert outcome_of(old, new, is_dry_run=False) == "configured"
    assert outcome_of(old, old.copy(), is_dry_run=False) == "unchanged"
    assert outcome_of(old, taken_over, is_dry_run=False) == "unchanged"
    # A dry run never increases the resource version.
    assert outcome_of(old, obj(metadata={"resourceVersion": "1"}, data={"a": "b"}), is_dry_run=True) == "configured"
    assert outcome_of(old, old.copy(), is_dry_run=True) == "unchanged"


def test_a_result_is_a_sequence_with_the_words_of_kubectl() -> None:
    web = Unstructured.from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}})
    result = ApplyResult([(obj(), "created"), (web, "unchanged")], [obj("Secret")])

    assert [each.kind for each in result] == ["ConfigMap", "Deployment"]
    assert result[-1] is web
    assert list(result[:1]) == [obj()]
    assert list(result.outcomes) == ["created", "unchanged"]
    assert result.has_changes
    assert result.text == "configmap/a created\ndeployment.apps/web unchanged\nsecret/a pruned\n"
    assert repr(result) == "ApplyResult(created=1, unchanged=1, pruned=1)"
    assert not ApplyResult([(web, "unchanged")]).has_changes

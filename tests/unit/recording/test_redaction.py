"""Values that rules name are left out; all others stay, byte for byte."""

from __future__ import annotations

import json

import pytest

from masthead._recording.redaction import Redaction
from masthead.errors import ArgumentError


def redacted(resource: str, obj: object, *rules: str) -> object:
    """An object as a recording has it."""
    return json.loads((Redaction(rules) if rules else Redaction()).apply(resource, json.dumps(obj).encode()))


def test_a_secret_keeps_its_keys_and_stays_valid() -> None:
    secret = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":…}', "a": "b"}},
        "data": {"password": "aHVudGVyMg=="},
        "stringData": {"token": "x"},
        "type": "Opaque",
    }
    assert redacted("secrets", secret) == {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "REDACTED", "a": "b"}},
        "data": {"password": "UkVEQUNURUQ="},
        "stringData": {"token": "REDACTED"},
        "type": "Opaque",
    }


def test_other_objects_keep_their_bytes() -> None:
    encoded = b'{ "data": {"password": "x"} }'
    assert Redaction().apply("configmaps", encoded) is encoded
    assert Redaction(["configmaps:data.other"]).apply("configmaps", encoded) is encoded


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("pods:spec.env[*].value", {"env": [{"value": "REDACTED", "n": 1}, {"value": "REDACTED", "n": 2}]}),
        ("*:spec.env[*].n", {"env": [{"value": "a", "n": 0}, {"value": "b", "n": 0}]}),
        ("pods:spec.env", {"env": []}),
        ("pods:spec[env][*]", {"env": [{}, {}]}),
    ],
)
def test_a_rule_enters_lists_and_maps(rule: str, expected: object) -> None:
    pod = {"spec": {"env": [{"value": "a", "n": 1}, {"value": "b", "n": 2}]}}
    assert redacted("pods", pod, rule) == {"spec": expected}


@pytest.mark.parametrize("rule", ["", "secrets", "secrets:", ":data", "Secrets:data", "secrets:data[", "secrets:a..b"])
def test_a_malformed_rule_is_refused(rule: str) -> None:
    with pytest.raises(ArgumentError, match="write RESOURCE:PATH"):
        Redaction([rule])

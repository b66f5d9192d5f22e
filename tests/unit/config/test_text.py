"""A kubeconfig may be given as text instead of a path."""

from __future__ import annotations

import json

import pytest

from masthead.config import load
from masthead.errors import ConfigError

TEXT = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443"}}]
users: [{name: u, user: {token: very-secret-token}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
current-context: one
"""


def test_text_is_taken_for_what_it_is() -> None:
    found = load(TEXT, environ={})

    assert (found.server, found.token.reveal()) == ("https://10.0.0.1:6443", "very-secret-token")


def test_so_is_json_in_one_line() -> None:
    data = {
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443"}}],
        "contexts": [{"name": "one", "context": {"cluster": "c"}}],
        "current-context": "one",
    }

    assert load(json.dumps(data), environ={}).server == "https://10.0.0.1:6443"


def test_overrides_count_for_it_too() -> None:
    assert load(TEXT, environ={}, namespace="shop").namespace == "shop"
    with pytest.raises(ConfigError, match="two"):
        load(TEXT, environ={}, context="two")


def test_text_that_is_no_kubeconfig_is_not_shown() -> None:
    with pytest.raises(ConfigError) as raised:
        load("token: very-secret-token\nnonsense", environ={})

    assert "very-secret-token" not in str(raised.value)

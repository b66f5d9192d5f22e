"""JSON objects one after the other are manifests, as those of a stream of YAML documents."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masthead
from masthead._client.json_streams import separate_json
from masthead._meta import yaml
from masthead.errors import ManifestError

OBJECTS = st.lists(st.dictionaries(st.text("ab{}\"'\\ \n-", max_size=5), st.text('{}"\\:# -', max_size=5)), min_size=1)


def config_map(name: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


@given(OBJECTS, st.sampled_from(["\n", "", " ", "\n\n  ", "\r\n"]), st.sampled_from([None, 2]))
def test_all_objects_are_read_whatever_is_between_them(
    objects: list[dict[str, str]], between: str, indent: int | None
) -> None:
    text = between.join(json.dumps(each, indent=indent) for each in objects)

    assert yaml.load_all(separate_json(text)) == objects
    assert yaml.load_all(separate_json(text.encode())) == objects


@pytest.mark.parametrize("between", ["\n", "", "\n  ", "\n---\n"])
def test_manifests_may_be_concatenated_json(between: str) -> None:
    found = masthead.load_manifests(between.join(map(config_map, "abc")))

    assert [each.metadata.name for each in found] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    ["", "{a: 1}", "{}", '{"a": 1}\n---\n{"b": 2}\n', "a: 1\n", "{" * 100_000, '{"a":' * 100_000],
)
def test_any_other_text_is_left_as_it_is(text: str) -> None:
    assert separate_json(text) is text


def test_bytes_that_are_no_utf8_are_left_as_they_are() -> None:
    text = config_map("a").encode("utf-16")

    assert separate_json(text) is text


def test_a_problem_names_its_document_and_line() -> None:
    text = "\n".join([config_map("a"), config_map("b"), '{"apiVersion": "v1", "kind"; }'])
    with pytest.raises(ManifestError, match="line 3"):
        masthead.load_manifests(text)

    nameless = '{"apiVersion": "v1"}'
    with pytest.raises(ManifestError, match="manifest, document 2: apiVersion and kind are required"):
        masthead.load_manifests(f"{config_map('a')}\n{nameless}\n{config_map('b')}")

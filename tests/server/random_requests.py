"""Random parts of requests, valid and invalid."""

from __future__ import annotations

import json
import urllib.parse
from typing import NamedTuple

from hypothesis import strategies as st
from tests.server.calls import APPLY_PATCH, JSON_PATCH, MERGE_PATCH

TOKEN = "let-me-in"

characters = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
escapes = st.integers(0, 255).map(lambda byte: f"%{byte:02x}")
steps = st.one_of(
    st.sampled_from(
        ["", ".", "..", "%2e%2e", "%2F", "a%2Fb", "%", "%zz", "%00", "%25", "a", "kept", "status", "watch"]
    ),
    st.text(characters, max_size=8).filter(lambda step: "#" not in step),
    st.lists(escapes, max_size=4).map("".join),
)
odd_values = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "true",
            "All",
            "Exact",
            "NotOlderThan",
            "a=b",
            "a in (b)",
            "!a",
            "metadata.name=x",
        ]
    ),
    st.sampled_from(
        [
            "9" * 30,
            "1.5",
            "0x1",
            "+1",
            " 1",
            "\0",
            "\x7f",
            "a==b,,",
            "(((",
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
            "é",
        ]
    ),
    st.integers(-(2**64), 2**65).map(str),
    st.sampled_from([2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64]).map(str),
    st.text(max_size=6),
)
parameters = st.sampled_from(
    [
        "labelSelector",
        "fieldSelector",
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "timeoutSeconds",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
        "gracePeriodSeconds",
        "propagationPolicy",
        "orphanDependents",
        "pretty",
        "export",
        "tailLines",
        "nope",
    ]
)
queries = st.one_of(
    st.lists(st.tuples(parameters, odd_values), max_size=3).map(
        lambda pairs: urllib.parse.urlencode(pairs, errors="replace")
    ),
    st.text(characters, max_size=12).filter(lambda text: "#" not in text and "watch" not in text),
)
media_types = st.one_of(
    st.sampled_from(
        [
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            "application/cbor",
            APPLY_PATCH,
            "application/strategic-merge-patch+json",
            MERGE_PATCH,
            JSON_PATCH,
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "application/json;as=;v=;g=",
            "application/json; charset=nonsense",
            "*/*;q=x",
            "text/html",
            ";;;",
            ",",
        ]
    ),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=10),
)
credentials = st.one_of(
    st.just(f"Bearer {TOKEN}"),
    st.sampled_from(["", "Bearer", "Bearer ", "Bearer x", f"bearer {TOKEN}", "Basic eDp5", f"Bearer  {TOKEN}", "\xff"]),
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "Accept": media_types,
        "Content-Type": media_types,
        "Content-Encoding": st.sampled_from(["gzip", "deflate", "br", "zstd", "identity", "nope"]),
        "User-Agent": st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, categories=["L", "P"]), max_size=5),
        "If-None-Match": st.sampled_from(["*", '"x"', "x"]),
    },
)
methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
documents = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "apiVersion", "metadata", "name", "spec", "labels", "op", "path"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


class Repeated(NamedTuple):
    """A deep or long body, with a short way to print it."""

    piece: bytes
    times: int


def sent(body: bytes | Repeated | None) -> bytes | None:
    return body.piece * body.times if isinstance(body, Repeated) else body


bodies = st.one_of(
    st.none(),
    st.binary(max_size=60),
    st.binary(max_size=30).map(lambda tail: b"k8s\0" + tail),
    documents.map(lambda document: json.dumps(document).encode()),
    st.sampled_from([b"\xef\xbb\xbf{}", b"a: &a [*a]", b"!!python/object:x {}"]),
    st.builds(Repeated, st.sampled_from([b"[", b'{"a":', b"- ", b"{", b" "]), st.sampled_from([900, 5000, 20_000])),
)

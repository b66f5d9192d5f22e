"""JSONPath as Kubernetes has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._printers.jsonpath import JsonPathError, compile_path

OBJ = {
    "spec": {
        "replicas": 3,
        "names": ["a", "b", "c"],
        "dotted.name": "x",
        "nested": {"deep": 1, "more": {"deep": 2}},
        "nothing": None,
    },
    "status": {
        "conditions": [
            {"type": "Synced", "status": "Unknown", "rank": 1.5},
            {"type": "Ready", "status": "True", "rank": 2.5},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("$.spec.replicas", [3]),
        ("@.spec.replicas", [3]),
        (".spec.nothing", [None]),
        (".spec.none", []),
        (".spec.none.below", []),
        (".spec.replicas.below", []),
        (r".spec.dotted\.name", ["x"]),
        (r".spec['dotted\.name']", ["x"]),
        (".spec.names[0]", ["a"]),
        (".spec.names[-1]", ["c"]),
        (".spec.names[*]", ["a", "b", "c"]),
        (".spec.names[0:3:2]", ["a", "c"]),
        (".spec.names[1:]", ["b", "c"]),
        (".spec.names[0:0]", []),
        (".spec.names[2,0]", ["c", "a"]),
        (".spec['replicas','names'][0]", None),
        ("..deep", [1, 2]),
        (".spec.nested.*", [1, {"deep": 2}]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.rank==2.5)].type", ["Ready"]),
        (".status.conditions[?(@.rank)].type", ["Synced", "Ready"]),
        (".status.conditions[?(@.none)].type", []),
        (".status.conditions[?(@.type!='Ready')].type", ["Synced"]),
        (".spec.names[?(@>='b')]", ["b", "c"]),
        ("", [OBJ]),
        (".", []),
        (".spec.replicas}", [3]),
        (".spec.replicas} and {.spec.names", [3]),
    ],
)
def test_a_path_selects(path: str, found: list[object] | None) -> None:
    if found is None:
        with pytest.raises(JsonPathError):
            compile_path(path).find(OBJ)
    else:
        assert compile_path(path).find(OBJ) == found


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".spec.names[3]", "array index out of bounds: index 3, length 3"),
        (".spec.names[-4]", "array index out of bounds: index -1, length 3"),
        (".spec.names[2:1]", "starting index 2 is greater than ending index 1"),
        (".spec.replicas[0]", "is not array or slice"),
        (".spec[?(@.a=='b')]", "cannot be filtered"),
        (".spec.names[0:2:0]", "step must be > 0"),
        (".status.conditions[?(@.rank=='x')]", "incompatible types for comparison"),
        (".spec.names[?(@=<'x')]", "unrecognized filter operator =<"),
        ("range", "unrecognized identifier range"),
    ],
)
def test_a_path_that_does_not_fit_is_an_error(path: str, problem: str) -> None:
    with pytest.raises(JsonPathError) as caught:
        compile_path(path).find(OBJ)
    assert problem in str(caught.value)


def test_a_missing_field_is_an_error_if_it_must_not_be_missing() -> None:
    with pytest.raises(JsonPathError, match="none is not found"):
        compile_path(".spec.none").find(OBJ, allows_missing=False)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".spec[", "unterminated array"),
        (".spec[x]", "invalid array index x"),
        (".spec[-]", "array index - is not a number"),
        (".spec[?(@.a]", "unterminated filter"),
        (".spec[?(@.a)", "unclosed array expect ]"),
        (".a....b", "invalid multiple recursive descent"),
        ("'open", "unterminated quoted string"),
        ("1.2.3", "cannot parse number 1.2.3"),
        ("#", "unrecognized character in action: '#'"),
        (".a}{.b[", "unterminated array"),
        (".a\n.b", "unclosed action"),
        ("." * 5_000, "longer than"),
        ("[?(" * 50 + "@.a" + ")]" * 50, "unterminated filter"),
    ],
)
def test_what_is_not_a_path_is_rejected(path: str, problem: str) -> None:
    with pytest.raises(JsonPathError) as caught:
        compile_path(path)
    assert problem in str(caught.value)


@pytest.mark.parametrize("path", ["..[*]..[*]..[*]", "[*]" * 200, ".." + ".*" * 50])
def test_a_search_that_visits_too_much_is_cut(path: str) -> None:
    wide: object = 1
    for _ in range(6):
        wide = [wide] * 6
    try:
        assert len(compile_path(path).find(wide)) <= 10_000
    except JsonPathError as error:
        assert "too many values" in str(error) or "not array" in str(error)  # noqa: PT017 - either is right


@pytest.mark.slow
def test_data_that_nests_deeply_is_cut() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(JsonPathError, match="levels deep"):
        compile_path("..x").find(deep)


PIECES = st.sampled_from(
    [
        *".[]*?()@$'\"\\:,={}<>! \n-",
        "..",
        "[?(",
        ")]",
        "spec",
        "names",
        "0",
        "1",
        "-1",
        "==",
        "type",
        "'Ready'",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_no_text_makes_the_parser_or_the_search_fail_otherwise(text: str) -> None:
    try:
        found = compile_path(text).find(OBJ)
    except JsonPathError:
        return
    assert isinstance(found, list)


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4), st.integers())
def test_a_path_of_fields_finds_what_stands_there(fields: list[str], value: int) -> None:
    obj: object = value
    for field in reversed(fields):
        obj = {field: obj}
    assert compile_path("".join(f".{field}" for field in fields)).find(obj) == [value]
    assert compile_path("".join(f"['{field}']" for field in fields)).find(obj) == [value]

"""The floor of typed symbols in the public API."""

from __future__ import annotations

from typing import Any

from tools.verify_types import report


def output(score: float, *problems: str) -> Any:
    symbols = [
        {
            "name": "masthead.Thing.size",
            "isExported": True,
            "isTypeKnown": False,
            "diagnostics": [{"message": "Type is\n missing"}],
        },
        {"name": "masthead.Thing", "isExported": True, "isTypeKnown": False, "diagnostics": []},
        {"name": "masthead.Other", "isExported": True, "isTypeKnown": True, "diagnostics": []},
    ]
    return {
        "generalDiagnostics": [{"message": problem} for problem in problems],
        "typeCompleteness": {"completenessScore": score, "symbols": symbols},
    }


def test_a_score_at_the_floor_is_enough() -> None:
    assert report(output(0.999)) == (True, "99.9% of the public API is typed; the floor is 99.9%")


def test_a_lower_score_names_the_causes() -> None:
    is_enough, text = report(output(0.9))

    assert not is_enough
    assert text.splitlines()[1:] == ["masthead.Thing.size: Type is missing"]


def test_a_failed_pyright_run_does_not_pass() -> None:
    assert report(output(1.0, "No py.typed file found")) == (False, "No py.typed file found")

"""The prose check of ``make lint``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.prose import Figures, Phrase, measure_document, measure_source, phrases_of, violations

if TYPE_CHECKING:
    from pathlib import Path

MODULE = '''"""A module that goes on."""

_LONGEST = 3
"""Of those that wait."""


def _joined(parts):
    # Nobody reads this.
    for each in parts:  # noqa: B007
        pass
    return [part for part in parts]


@property
def _named(self):
    return self
'''
GOOD = Figures(words=1_000, phrases=1, lines=1_000, comments=30, loops=100, each_loops=1, participles=3)


def test_a_module_is_measured_by_its_prose_and_names() -> None:
    figures = measure_source(MODULE)

    assert figures == Figures(
        words=12, phrases=3, lines=16, comments=1, loops=2, each_loops=1, participles=1, superlatives=1
    )
    assert figures.density == pytest.approx(2_500)


def test_code_in_a_document_is_not_prose() -> None:
    figures = measure_document("It says `what is` so.\n\n```python\nat once\n```\n\nAt once.\n")

    assert (figures.words, figures.phrases) == (5, 2)


def test_phrases_are_listed_with_their_lines(tmp_path: Path) -> None:
    module, document = tmp_path / "a.py", tmp_path / "a.md"
    module.write_text(MODULE, "utf-8")
    document.write_text("One.\n\n```sh\nat once\n```\n\nAt once.\n", "utf-8")

    assert phrases_of(module) == [Phrase(1, "goes on"), Phrase(4, "those that"), Phrase(8, "Nobody")]
    assert phrases_of(document) == [Phrase(7, "At once")]


def test_figures_within_the_limits_pass() -> None:
    assert violations({"masthead": GOOD}, GOOD) == []


@pytest.mark.parametrize(
    ("figures", "problem"),
    [
        (Figures(words=1_000, phrases=3, lines=100, comments=3), "30 phrases per 10,000 words of all packages"),
        (Figures(words=1_000, phrases=5, lines=100, comments=3), "50 phrases per 10,000 words of masthead exceed 40"),
        (Figures(lines=100, comments=3, loops=100, each_loops=3), "3 of 100 loops run over `each`"),
        (Figures(lines=100, comments=3, participles=51), "51 functions are named by a participle"),
        (Figures(lines=100, comments=3, superlatives=1), "1 constants are named by a superlative"),
        (Figures(lines=100, comments=2), "2 comments in 100 lines"),
    ],
)
def test_an_exceeded_limit_is_a_violation(figures: Figures, problem: str) -> None:
    assert problem in "\n".join(violations({"masthead": figures}, GOOD))


def test_documents_have_a_limit_too() -> None:
    assert "the documents exceed 25" in violations({"masthead": GOOD}, Figures(words=1_000, phrases=3))[0]

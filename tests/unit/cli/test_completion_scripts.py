"""The words of bash, which splits them at the characters of COMP_WORDBREAKS."""

from __future__ import annotations

import pytest

from masthead._cli.completion_scripts import join_words


@pytest.mark.parametrize(
    ("parts", "words", "kept"),
    [
        (["wait", "--for", "=", "re"], ["wait", "--for=re"], "--for="),
        (["wait", "--for", "="], ["wait", "--for="], "--for="),
        (["wait", "--for", "=", "condition", "=", "Re"], ["wait", "--for=condition=Re"], "--for=condition="),
        (["--context", "=", "arn", ":", "aws"], ["--context=arn:aws"], "--context=arn:"),
        (["-n", "=", "shop", "po"], ["-n=shop", "po"], ""),
        (["get", "pods", ""], ["get", "pods", ""], ""),
        (["-l", "'a b'", "=", '"c'], ["-l", "a b=c"], "a b="),
    ],
)
def test_parts_of_a_word_are_joined(parts: list[str], words: list[str], kept: str) -> None:
    assert join_words(parts) == (words, kept)

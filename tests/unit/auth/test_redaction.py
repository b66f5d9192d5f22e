"""Redaction of foreign text for messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from masthead._auth.redaction import redact


def test_lines_are_joined_and_colours_dropped() -> None:
    assert redact("\x1b[1;31mone\x1b[0m\r\n\n  two\x07", (), limit=100) == "one | two"


def test_redacted_text_keeps_its_end() -> None:
    assert redact("a" * 50 + "end", (), limit=5) == "…aaend"


def test_a_secret_that_begins_with_another_is_hidden_whole() -> None:
    assert redact("hunter2222", ["hunter22", "hunter2222"], limit=100) == "***"


def test_short_values_are_not_redacted() -> None:
    assert redact("true is true", ["true", ""], limit=100) == "true is true"


@given(st.text(), st.lists(st.text(alphabet="abc\n", min_size=6, max_size=12)), st.integers(1, 200))
def test_redacted_text_is_printable_short_and_free_of_secrets(separator: str, secrets: list[str], limit: int) -> None:
    text = separator.join(["", *secrets, ""])

    shown = redact(text, secrets, limit=limit)

    assert shown.isprintable()
    assert len(shown) <= limit + 1
    assert not any(secret in shown for secret in secrets)

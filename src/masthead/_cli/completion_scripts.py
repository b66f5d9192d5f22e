"""Completion scripts of shells, and the words that they pass: values of options behind ``=`` included."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["join_words", "register_shells"]

_BREAKS: Final = re.compile(r"[=:]+")
"""A word that bash made of the characters in COMP_WORDBREAKS; the others of them end a command or need quotes."""

_BASH_SCRIPT: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" %(complete_var)s=bash_complete "$1")
    while IFS=',' read -r type value; do
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value == *= ]] && compopt -o nospace ;;
        esac
    done <<< "$response"
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
"""Differs from click's: no blank behind ``=``, and candidates may contain ``*``."""


class _WholeWords(ShellComplete):
    """Completes whole words: ``--for=re`` becomes ``--for=ready``, where click alone returns ``ready``."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the candidates for a word, with the option in front if the word is an option and its value."""
        option, equals, _ = incomplete.partition("=")
        found = super().get_completions(args, incomplete)
        if not (equals and option.startswith("-")):
            return found
        # The shell itself completes files and folders.
        return [
            CompletionItem(f"{option}={item.value}", help=item.help) if item.type == "plain" else item for item in found
        ]


class _Zsh(_WholeWords, ZshComplete):
    """Completion of zsh."""


class _Fish(_WholeWords, FishComplete):
    """Completion of fish."""


class _Bash(_WholeWords, BashComplete):
    """Completion of bash, which splits words at ``=`` and ``:``, and replaces only the last part."""

    source_template = _BASH_SCRIPT
    _kept = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word at the cursor."""
        parts = os.environ["COMP_WORDS"].split("\n")
        words, self._kept = join_words(parts[: int(os.environ["COMP_CWORD"]) + 1])
        return words[1:-1], words[-1]

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Format a candidate without the part of the word that bash keeps."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


def join_words(parts: Sequence[str]) -> tuple[list[str], str]:
    """Join the parts into which bash splits words.

    ``--for = x`` looks the same as ``--for=x``; the former is no command line that anybody means.

    Args:
        parts: The parts up to the cursor, with their quotes.

    Returns:
        The words, without quotes; and the beginning of the last one, which bash does not replace.
    """
    words: list[str] = []
    kept, is_open = "", False
    for part in parts:
        is_break = bool(_BREAKS.fullmatch(part))
        plain = "".join(split_arg_string(part))
        if words and (is_break or is_open):
            kept = words[-1] + plain if is_break else words[-1]
            words[-1] += plain
        else:
            kept = ""
            words.append(plain)
        is_open = is_break
    return words, kept


def register_shells() -> None:
    """Use these classes for scripts and completions."""
    for shell in (_Bash, _Zsh, _Fish):
        add_completion_class(shell)

"""The parser of the built-in shell."""

from __future__ import annotations

import shlex
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.shell.builtin import is_runnable
from masthead_server.kubelet.shell.nodes import (
    AndOr,
    CommandGroup,
    ForLoop,
    If,
    Part,
    Pipeline,
    Redirect,
    SimpleCommand,
    WhileLoop,
    command_names,
)
from masthead_server.kubelet.shell.syntax import ShellSyntaxError, parse


def word(text: str) -> tuple[Part, ...]:
    return (Part(text),)


def simple(*words: str) -> SimpleCommand:
    return SimpleCommand((), tuple(map(word, words)), ())


def alone(command: object) -> tuple[AndOr, ...]:
    return (AndOr(Pipeline((command,))),)  # type: ignore[arg-type]


def test_operators_make_lists_of_pipelines() -> None:
    assert parse("a b | c && ! d || e; f") == (
        AndOr(
            Pipeline((simple("a", "b"), simple("c"))),
            (("&&", Pipeline((simple("d"),), is_negated=True)), ("||", Pipeline((simple("e"),)))),
        ),
        AndOr(Pipeline((simple("f"),))),
    )


def test_words_consist_of_quoted_and_variable_parts() -> None:
    [chain] = parse("""a"b $c"'d'\\ e$F${G}2""")
    [command] = chain.first.commands
    assert isinstance(command, SimpleCommand)
    assert command.words == (
        (
            Part("a"),
            Part("b ", is_quoted=True),
            Part("c", is_variable=True, is_quoted=True),
            Part("d ", is_quoted=True),
            Part("e"),
            Part("F", is_variable=True),
            Part("G", is_variable=True),
            Part("2"),
        ),
    )


def test_redirections_and_assignments() -> None:
    [chain] = parse("A=1 B=$A cmd <in >out 2>>err 2>&1 x=y a2>f")
    [command] = chain.first.commands
    assert isinstance(command, SimpleCommand)
    assert [name for name, _ in command.assignments] == ["A", "B"]
    assert command.words == (word("cmd"), word("x=y"), word("a2"))
    assert command.redirects == (
        Redirect("<", word("in")),
        Redirect(">", word("out")),
        Redirect("2>>", word("err")),
        Redirect("2>&1"),
        Redirect(">", word("f")),
    )


def test_compound_commands() -> None:
    body = parse("b")
    assert parse("while a; do b; done") == alone(WhileLoop(parse("a"), body))
    assert parse("until a\ndo\nb\ndone") == alone(WhileLoop(parse("a"), body, is_until=True))
    assert parse("for x in 1 2; do b; done") == alone(ForLoop("x", (word("1"), word("2")), body))
    assert parse("if a; then b; elif c; then b; else d; fi") == alone(
        If(((parse("a"), body), (parse("c"), body)), parse("d"))
    )
    assert parse("{ b; } >f") == alone(CommandGroup(body, (Redirect(">", word("f")),)))
    assert parse("(b)") == alone(CommandGroup(body, is_subshell=True))
    assert parse("echo done if") == alone(simple("echo", "done", "if"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "'",
            '"',
            "a &&",
            "| a",
            "a | | b",
            ">",
            "a >",
            "; a",
            "a;;b",
            "if a",
            "while a; do",
            "fi",
            "{ a",
            "(a",
            ")",
        ),
        *(
            "& a",
            "`a",
            "$(a",
            '"$((1"',
            "${a",
            "${a^b}",
            "${a:-b",
            "case a in b",
            "case a in b; esac",
            "for 1 in a; do b; done",
            "(" * 200,
        ),
    ],
)
def test_what_is_invalid_or_not_there_is_an_error(text: str) -> None:
    with pytest.raises(ShellSyntaxError):
        parse(text)


@given(st.lists(st.text(min_size=1, max_size=12).filter(lambda each: "\0" not in each), min_size=1, max_size=5))
def test_quoted_words_are_what_they_were(words: list[str]) -> None:
    [chain] = parse(" ".join(f'"" {shlex.quote(each)}' for each in words))
    [command] = chain.first.commands
    assert isinstance(command, SimpleCommand)
    assert ["".join(part.text for part in each) for each in command.words[1::2]] == words


@given(st.text(alphabet="ab '\"\\$|&;<>(){}=#\n!", max_size=30))
def test_any_text_is_a_script_or_a_syntax_error(text: str) -> None:
    with suppress(ShellSyntaxError):
        assert all(isinstance(command_name, str) for command_name in command_names(parse(text)))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["sleep", "1"], True),
        (["/bin/sh"], True),
        (["nginx", "-g"], False),
        ([], False),
        (["sh", "-c", "while true; do date; sleep 1; done"], True),
        (["sh", "-ec", "if test -f /x; then python app.py; fi"], False),
        (["sh", "-c", "exec nginx"], False),
        (["sh", "-c", "$COMMAND"], False),
        (["sh", "-c", "echo $(date)"], True),
        (["sh", "-c", "echo $(nginx)"], False),
        (["sh", "-c", "for i in $(nginx); do echo; done"], False),
        (["sh", "/entrypoint.sh"], False),
        (["sh", "-c", "for i in 1; do (echo a | cat) && { exit; }; done"], True),
        (["bash", "-euo", "pipefail", "-c", "echo a | cat"], True),
        (["sh", "-q", "-c", "echo"], False),
        (["sh", "-c", "serve() { sleep 1; }; while serve; do :; done"], True),
        (["sh", "-c", "serve() { nginx; }; serve"], False),
        (["sh", "-c", "env A=1 nginx"], False),
        (["sh", "-c", "env -i A=1 sleep 1"], True),
        (["sh", "-c", "command -v nginx || sleep 1"], True),
        (["sh", "-c", "cat <<E\n$(nginx)\nE"], False),
        (["kill", "1"], True),
    ],
)
def test_a_command_is_runnable_if_all_of_it_is_known(argv: list[str], expected: bool) -> None:
    assert is_runnable(argv) is expected


def test_containers_of_a_workload_share_their_parsed_script() -> None:
    script = "while true; do sleep 1; done"
    assert parse(script) is parse(script)


def test_a_long_script_is_not_kept() -> None:
    script = f"echo {'a' * 5000}"
    assert parse(script) == parse(script)
    assert parse(script) is not parse(script)

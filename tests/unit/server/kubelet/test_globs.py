"""Globs of the built-in shell, as in dash."""

from __future__ import annotations

import pytest
from tests.unit.server.kubelet.shell_runs import ShellRun

FILES = "cd /tmp; touch a.txt b.txt 'c d.txt' .hidden 'st*r'; mkdir -p d/sub; touch d/x.log d/y.log d/sub/z.log; "


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("*", "<a.txt> <b.txt> <c d.txt> <d> <st*r>"),
        ("[ab].txt [!a]*.txt ?", "<a.txt> <b.txt> <b.txt> <c d.txt> <d>"),
        ("d/*.log d//x.* d/*/z.log", "<d/x.log> <d/y.log> <d//x.log> <d/sub/z.log>"),
        ("*/ /tmp/d/*b /t*p/a.*", "<d/> </tmp/d/sub> </tmp/a.txt>"),
        (".h* st\\** 'a'*", "<.hidden> <st*r> <a.txt>"),
        ("nothing* a.txt/* [ a] ''", "<nothing*> <a.txt/*> <[> <a]> <>"),
        ("'*.txt' \"*.txt\" \\*.txt", "<*.txt> <*.txt> <*.txt>"),
        ("$pattern \"$pattern\" ${none:-a*} ${none:-'a*'} $(echo 'a*')", "<a.txt> <a*> <a.txt> <a*> <a.txt>"),
    ],
)
def test_a_glob_stands_for_the_paths_that_match(script: str, words: str) -> None:
    found = ShellRun().run_script(f"{FILES} pattern='a*'; printf '<%s> ' {script}")

    assert found == (f"{words} ", "", 0)


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("for file in d/*.log; do echo $file; done", "d/x.log\nd/y.log\n"),
        ("rm *.txt; ls", "d\nst*r\n"),
        ("set -f; echo *", "*\n"),
        ('copy=*.txt; echo "$copy"', "*.txt\n"),
        ("case a.txt in *.txt) echo yes ;; esac", "yes\n"),
        ("[ -e *.log ] || echo none", "none\n"),
    ],
)
def test_commands_get_the_paths(script: str, output: str) -> None:
    assert ShellRun().run_script(FILES + script) == (output, "", 0)


def test_a_glob_of_too_many_names_is_an_error() -> None:
    run = ShellRun()
    for number in range(10_001):
        run.files.create(f"/many-{number}")

    stdout, stderr, code = run.run_script("cd /; echo *")

    assert (stdout, code) == ("", 2)
    assert "Argument list too long" in stderr

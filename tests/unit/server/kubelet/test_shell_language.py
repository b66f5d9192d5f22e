"""The language of the built-in shell, as dash has it: options, traps, functions, variables and expansions."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.unit.server.kubelet.shell_runs import ShellRun

if TYPE_CHECKING:
    from pathlib import Path

DASH = shutil.which("dash")

ERREXIT = [
    ("set -e; false; echo no", "", 1),
    ("set -e; if false; then :; fi; false || true; ! true; false && true; echo yes; (exit 3); echo no", "yes\n", 3),
    ("set -e; f() { false; echo x; }; f || echo tested; f; echo no", "x\n", 1),
    ("set -e; { false && true; }; while false; do :; done; until true; do :; done; echo ok", "ok\n", 0),
    ("set -e; false | true; echo ok; true | false; echo no", "ok\n", 1),
    ("set -e; x=$(false) || echo caught; y=$(exit 4); echo no", "caught\n", 4),
    ("set -e; set +e; false; echo $?", "1\n", 0),
    ("set -o errexit; false; echo no", "", 1),
    ("sh -e -c 'false; echo no'; echo $?; sh -ec 'false; echo no'; echo $?", "1\n1\n", 0),
    ("set -e; case x in x) false;; esac; echo no", "", 1),
    ("set -e; trap 'echo bye $?' EXIT; f() { return 2; }; f; echo no", "bye 2\n", 2),
]
OPTIONS = [
    ('set -u; echo ${x:-d} "$@" $*; echo $x; echo no', "d\n", 2),
    ("set -u; (echo $nope; echo no); echo $?; echo ${#nope}; echo no", "2\n", 2),
    ("set -x; a=1; echo 'b c' $a", "b c 1\n", 0),
    ("set -a; q=5; sh -c 'echo $q'", "5\n", 0),
    ("set -u; echo $-", "u\n", 0),
    ("set -q; echo no", "", 2),
    ("set -o nosuch; echo no", "", 2),
    ("sh -q -c 'echo no'; echo $?", "2\n", 0),
    (
        'set -- a \'b c\' d; echo $# "$2"; shift; echo "$@"; for x; do echo "<$x>"; done',
        "3 b c\nb c d\n<b c>\n<d>\n",
        0,
    ),
    ("set a b; set --; echo $#; shift 5; echo no", "0\n", 2),
    ('x="it\'s"; unset HOME PWD OLDPWD; set | grep ^x=', "x='it'\"'\"'s'\n", 0),
]
TRAPS = [
    (
        "trap 'echo usr' USR1; kill -USR1 $$ && echo after; if kill -USR1 $$; then echo then; fi",
        "usr\nafter\nusr\nthen\n",
        0,
    ),
    ("kill -TERM $$ && echo no || echo no", "", 143),
    ("(kill -TERM $$ && echo no); echo no", "", 143),
    ("f() { kill -HUP $$ && echo no; }; { f; echo no; }; echo no", "", 129),
    ("trap 'echo bye $?' EXIT; exit 3", "bye 3\n", 3),
    ("trap 'echo x; exit 9' EXIT; (exit 2)", "x\n", 9),
    ("trap 'echo bye' EXIT; (trap 'echo sub' EXIT; echo in); echo out", "in\nsub\nout\nbye\n", 0),
    ("trap 'echo $i' EXIT; for i in 1 2; do :; done", "2\n", 0),
    (
        "trap 'echo hup' HUP; trap 'echo usr2' 12; kill -HUP $$; kill -s USR2 $$; kill -12 $$; echo end",
        "hup\nusr2\nusr2\nend\n",
        0,
    ),
    ("trap '' TERM; kill $$; echo alive; trap - TERM; kill $$; echo no", "alive\n", 143),
    ("trap 'echo int' INT; trap; trap - INT; trap; trap x NOSUCH; echo $?", "trap -- 'echo int' INT\n1\n", 0),
    ("trap 'echo got' USR1; (kill -USR1 $$); echo end", "got\nend\n", 0),
    ("kill -TERM $$; echo no", "", 143),
    ("kill -9 $$; echo no", "", 137),
    ("(exit 3) & wait $!; echo $?; wait 12345; echo $?", "3\n127\n", 0),
    ("kill; echo $?; kill 99999; echo $?; kill -0 $$ && echo here", "2\n1\nhere\n", 0),
]
VARIABLES = [
    ('sh -c "kill -USR1 \\$\\$; echo no"; echo $?', "138\n", 0),
    (
        "trap '' INT; sh -c 'kill -INT $$; echo child'; trap - INT; sh -c 'kill -INT $$; echo no'; echo $?",
        "child\n130\n",
        0,
    ),
    ("x=$(false); echo $?; x=$(exit 4) y=2; echo $? $y; x=1; echo $?", "1\n4 2\n0\n", 0),
    ("exec echo hi; echo no", "hi\n", 0),
    ("trap 'echo no' EXIT; exec true", "", 0),
    ("exec nosuchcmd; echo no", "", 127),
    ("exec 2>err; echo hi >&2; cat err", "hi\n", 0),
    ("{ echo b; exec >>f; echo c; } >g; echo d; cat f g", "d\nc\nb\n", 0),
    ("A=1; export B=2; C=3 env | grep -E '^[ABC]=' | sort; sh -c 'echo $A-$B'", "B=2\nC=3\n-2\n", 0),
    ("env -i A=2 sh -c 'echo $A'; env -u HOME sh -c 'echo ${HOME-none}'; env A=2 printenv A", "2\nnone\n2\n", 0),
    ("export X; export -p | grep X; X=2; export -p | grep X; sh -c 'echo $X'", "export X\nexport X='2'\n2\n", 0),
    ("readonly Y=1; readonly -p | grep Y; (Y=2); echo $?; Y=2; echo no", "readonly Y='1'\n2\n", 2),
    ("readonly r=1; unset r; echo no", "", 2),
    ("export 1a=2; echo no", "", 2),
    ("x=1; x=2 eval 'echo $x'; f() { echo $x; }; x=5 f; echo $x; y=3 :; echo $y", "2\n5\n2\n3\n", 0),
    (
        'x=a,b,,c; IFS=,; set -- $x; echo $#; echo "$*"; for i in $x; do echo "[$i]"; done',
        "4\na,b,,c\n[a]\n[b]\n[]\n[c]\n",
        0,
    ),
    (
        "IFS=:; x=' a : b:'; for i in $x; do echo \"[$i]\"; done; IFS=' :'; for i in $x; do echo \"[$i]\"; done",
        "[ a ]\n[ b]\n[a]\n[b]\n",
        0,
    ),
    (
        "printf 'a:b:c:' | { IFS=: read x y; echo \"$x|$y|$?\"; }; printf ' a \\n' | { IFS= read x; echo \"[$x]\"; }",
        "a|b:c:|1\n[ a ]\n",
        0,
    ),
    (
        "printf 'a\\\\ b c\\n' | { read x y; echo \"$x|$y\"; }; printf 'a\\\\tb\\n' | { read -r x; echo ${#x}; }",
        "a b|c\n4\n",
        0,
    ),
    (
        'set -- a b; for i in "x$@y"; do echo "[$i]"; done; set -- \'\' a; echo $#; set -- "$@" \'\'; echo $#',
        "[xa]\n[by]\n2\n3\n",
        0,
    ),
]
COMMANDS = [
    (
        'set -- -vn5 -o x -- a; while getopts vn:o: o; do echo "$o $OPTARG $OPTIND"; done; shift 4; echo $1',
        "v  2\nn 5 2\no x 4\na\n",
        0,
    ),
    (
        'set -- -x -b; while getopts :ab: o; do echo "$o $OPTARG"; done; echo $OPTIND; getopts; echo $?',
        "? x\n: b\n3\n2\n",
        0,
    ),
    ("f() { OPTIND=1; while getopts a:b o; do echo $o; done; }; f -b -a 1; f -ab x -b", "b\na\na\n", 0),
    ("f() { return 4; echo no; }; f; echo $?; f() { echo $1 $#; }; f a b; echo $#", "4\na 2\n0\n", 0),
    ("f() { local x=2; echo $x; y=3; }; x=1; f; echo $x $y; local z=1; echo no", "2\n1 3\n", 2),
    ("f() ( x=2; exit 3 ); x=1; f; echo $? $x; unset -f f; f; echo $?", "3 1\n127\n", 0),
    ("f() { break; echo x; }; for i in 1 2; do f; done", "x\nx\n", 0),
    ("fib() { [ $1 -lt 2 ] && echo $1 || echo $(($(fib $(($1-1))) + $(fib $(($1-2))))); }; fib 7", "13\n", 0),
    ("cd /tmp; cd /; cd -; echo $OLDPWD $PWD", "/tmp\n/ /tmp\n", 0),
    ("eval 'echo a; x=5'; echo $x; y='${x}'; eval \"echo $y\"; eval exit 3; echo no", "a\n5\n5\n", 3),
    ("echo 'echo sourced; y=7; return 5; echo no' > f; . ./f; echo $? $y; . ./nofile; echo no", "sourced\n5 7\n", 2),
    ("while :; do while :; do break 2; done; echo no; done; for i in; do echo no; done; echo $?", "0\n", 0),
    ("false; if false; then :; fi; echo $?; ! true; echo $?", "0\n1\n", 0),
    ("if :; then echo in; fi >f; case a in a) echo c;; esac >>f; cat f", "in\nc\n", 0),
    (
        "cat <<-E\n\ttabs $HOME\n\tE\ncat <<'E'\nraw $HOME `x`\nE\ncat <<E\n$(echo sub) \\$x \"q\"\nE",
        'tabs /tmp\nraw $HOME `x`\nsub $x "q"\n',
        0,
    ),
    ('while read l; do echo "> $l"; done <<X\na\nb\nX', "> a\n> b\n", 0),
    ("printf 'if true\\nthen echo multi\\nfi\\ncat <<Q\\nin $((1+1))\\nQ\\n' | sh", "multi\nin 2\n", 0),
    ("sh -c 'echo $0 $1 $#' name arg; sh -c 'echo \"$@\"' x 1 2 3", "name arg 1\n1 2 3\n", 0),
    ("command -v cd; command -v nosuch; echo $?; f() { :; }; command -v f", "cd\n127\nf\n", 0),
    ("(echo a; return 3; echo no); echo $?; sh -c 'exit 300'; echo $?", "a\n3\n44\n", 0),
    ("echo a\\\nb; echo \"e\\\nf\"; echo 'c\\\nd' | wc -l", "ab\nef\n2\n", 0),
]
EXPANSIONS = [
    ('echo "`echo \\"q\\"`" `echo \\`echo deep\\``', "q deep\n", 0),
    ("if true; then fi; echo no", "", 2),
    ("f() { }; echo no", "", 2),
    ("set -- 1 2 3 4 5 6 7 8 9 10 11; echo $10 ${10} ${11} ${#}; set -- ; echo ${#}", "10 10 11 11\n0\n", 0),
    ("set -e; . /dev/null; command -v if; dirname /; echo ok", "if\n/\nok\n", 0),
    (
        "x=abcabc; echo ${x%b*} ${x%%b*} ${x#*b} ${x##*b} ${#x} ${y:-d} ${y-e} ${y:=f} $y ${x:+alt} ${z+no}",
        "abca a cabc c 6 d e f f alt\n",
        0,
    ),
    ('x=\'a*b\'; echo "${x#"a*"}" "${x%\'*b\'}" ${x##*"*"}; echo "${z:-"q r"}" ${z:-\'s  t\'}', "b a b\nq r s  t\n", 0),
    (": ${x:?message}; echo no", "", 2),
    ("x=1; echo ${x:-$(echo ran >&2; echo no)} ${x:+$(echo yes)}", "1 yes\n", 0),
    (
        "case abc in a) echo 1;; a[bx]c) echo 2;; esac; case 'a*' in 'a*') echo 3;; esac; case x in (x) echo 4;; esac",
        "2\n3\n4\n",
        0,
    ),
    ("case 5 in [[:digit:]]) echo digit;; esac; case ab in 'a*') echo no;; [!b]?) echo 2;; esac", "digit\n2\n", 0),
    ('echo ~ ~/x "~"; x=~/y; echo $x', "/tmp /tmp/x ~\n/tmp/y\n", 0),
    ('a=\'x y\'; b=${a}z; c="$a"; echo $b "$c" ${a%% *}', "x yz x y x\n", 0),
    ("set -u; echo $((nope + 1)); x=3; echo $((x*x))", "1\n9\n", 0),
]
PROGRAMS = [
    ("[ a -a b ]; echo $?; [ '' -o b ]; echo $?; [ ! a ]; echo $?; [ \\( a = b \\) -o a ]; echo $?", "0\n0\n1\n0\n", 0),
    (
        "[ ! a = b -a -n x ]; echo $?; [ -n = -n ]; echo $?; [ '(' = '(' ]; echo $?; [ ! ]; echo $?; test; echo $?",
        "0\n0\n0\n0\n1\n",
        0,
    ),
    (
        "[ 1 -lt x ]; echo $?; [ a b ]; echo $?; [ a = b = c ]; echo $?; [ -f ]; echo $?; [ -c /dev/null ]; echo $?",
        "2\n2\n2\n0\n0\n",
        0,
    ),
    (
        "printf '%s %d %5.2f %c %x %o %b\\n' a 5 3.14159 xyz 255 8 'a\\tb'; printf '%e %g\\n' 12345.678 0.0001",
        "a 5  3.14 x ff 10 a\tb\n1.234568e+04 0.0001\n",
        0,
    ),
    (
        "printf '%d\\n' abc; echo $?; printf '%d %d\\n' 0x10 010; printf '%d\\n' \"'A\"; printf 'a%z'; echo $?",
        "0\n1\n16 8\n65\na2\n",
        0,
    ),
    ("printf '%*d|%-5s|\\n' 5 3 ab", "    3|ab   |\n", 0),
    (
        "expr length hello; expr substr hello 2 3; expr index hello l; expr hello : he; expr abc : 'a\\(.\\)c'",
        "5\nell\n3\n2\nb\n",
        0,
    ),
    ("date -u -d @0 +%Y-%m-%dT%H:%M:%S; date -u -d @86400 +%s", "1970-01-01T00:00:00\n86400\n", 0),
    ("grep x /nonexistent; echo $?; ls /nonexistent; echo $?", "2\n2\n", 0),
    ("mkdir -p a/b; touch a/.h a/b/c; ls -R a; ls -A a", "a:\nb\n\na/b:\nc\n.h\nb\n", 0),
    (
        "ls -% /; echo $?; grep -% x /; echo $?; sort -%; echo $?; rm -% x; echo $?; date -%; echo $?",
        "2\n2\n2\n1\n1\n",
        0,
    ),
    ("printf 'b 2\\na 10\\nc 1\\n' | sort -k 2n; printf 'x\\ny\\n' | grep -e x -e y -c", "c 1\nb 2\na 10\n2\n", 0),
]
SCRIPTS = [*ERREXIT, *OPTIONS, *TRAPS, *VARIABLES, *COMMANDS, *EXPANSIONS, *PROGRAMS]
ONLY_HERE = {
    "kill; echo $?; kill 99999; echo $?; kill -0 $$ && echo here",
    "(kill -TERM $$ && echo no); echo no",
}
"""Scripts whose results depend on the processes of the machine, and on their order."""


@pytest.mark.parametrize(("script", "stdout", "code"), SCRIPTS)
def test_scripts(script: str, stdout: str, code: int) -> None:
    run = ShellRun({"HOME": "/tmp", "PATH": "/bin"})

    printed, complaints, ended = run.run_script(f"cd /var; {script}")

    assert (printed, ended) == (stdout, code), complaints


@pytest.mark.skipif(DASH is None, reason="dash is not installed")
@pytest.mark.parametrize(("script", "stdout", "code"), [case for case in SCRIPTS if case[0] not in ONLY_HERE])
def test_dash_does_the_same(script: str, stdout: str, code: int, tmp_path: Path) -> None:
    environment = {"HOME": "/tmp", "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    found = subprocess.run(["dash", "-c", script], cwd=tmp_path, capture_output=True, env=environment, check=False)

    ended = found.returncode if found.returncode >= 0 else 128 - found.returncode
    assert (found.stdout.decode(), ended) == (stdout, code), found.stderr


@pytest.mark.parametrize(
    ("script", "stderr"),
    [
        ("set -x; a=1; b=$(echo 2) echo 'c d' $a", "+ a=1\n+ echo 2\n+ b=2 echo c d 1\n"),
        ("set -q", "sh: set: Illegal option -q\n"),
        ("sh -q", "sh: Illegal option -q\n"),
        ("set -u; echo $x", "sh: x: parameter not set\n"),
        ("readonly x=1; x=2", "sh: x: is read only\n"),
        ("local x", "sh: local: not in a function\n"),
        ("ls -q", "ls: invalid option -- 'q'\n"),
        ("ls --quick", "ls: unrecognized option '--quick'\n"),
        ("head -n", "head: invalid number ''\n"),
        ("[ 1 -lt x ]", "[: Illegal number: x\n"),
        ("env -i cd /", "env: cd: not found\n"),
        ("exec 3>&1", 'sh: syntax error: unexpected "3>"\n'),
    ],
)
def test_complaints(script: str, stderr: str) -> None:
    assert ShellRun().run_script(script)[1] == stderr


def test_a_pipeline_fails_with_its_last_failure_if_pipefail_is_set() -> None:
    script = "set -o pipefail; (exit 3) | (exit 4) | true; echo $?; set +o pipefail; false | true; echo $?"

    assert ShellRun().run_script(script) == ("4\n0\n", "", 0)


def test_options_are_listed_by_name() -> None:
    assert "errexit         on\n" in ShellRun().run_script("set -e; set -o")[0]
    assert "set -o errexit\n" in ShellRun().run_script("set -e; set +o")[0]


@pytest.mark.parametrize(
    "script",
    [
        "f() { f; }; f",
        "f() { x=$(f); }; f",
        "f() { for i in $b; do f; done; }; b=$(seq 100000); f",
        'f() { set -- $b; g "$@"; }; g() { f; }; b=$(seq 20000); f',
        "set -- $(seq 200000)",
        "f() { (f); }; f",
        'x=\'eval "$x"\'; eval "$x"',
        "echo '. ./f' > f; . ./f",
        "echo 'sh ./f' > f; sh ./f",
        "f() { local a=$1; f $1$1; }; f xxxxxxxxxxxxxxxx",
        'set -e; set -- xxxxxxxxxxxxxxxx; while :; do set -- $1$1 "$@"; done',
        'set -e; i=0; while :; do eval "f$i() { echo xxxxxxxxxxxxxxxxxxxxxxxx; }"; i=$((i+1)); done',
        "set -e; i=0; x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; readonly v$i=$x; i=$((i+1)); done",
        "set -e; x=$(yes $(printf '%9999s' | tr ' ' x))",
        "trap 'trap \"exit 3\" USR1; kill -USR1 $$; exit 4' EXIT; f() { f; }; f",
        "x=$(printf '%999999999d' 1); y=$x$x$x$x$x$x$x$x; x=$y$y$y$y; exit 5",
        "[ " + "\\( " * 200 + "a",
        "expr " + "\\( " * 200 + "a",
        "echo " + "$(echo " * 20 + ")" * 20,
        "$((" * 100,
    ],
)
def test_scripts_without_an_end_of_their_own_are_bounded(script: str) -> None:
    _, _, code = ShellRun().run_script(script)

    assert code


@pytest.mark.parametrize(
    "argv",
    [
        ("wc", "-c", "/dev/zero"),
        ("tail", "-f", "/dev/zero"),
        ("tail", "-c", "5", "/dev/urandom"),
        ("sh", "-c", "cat < /dev/urandom | wc -c"),
    ],
)
async def test_a_program_that_reads_endlessly_lets_others_run(argv: tuple[str, ...]) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(ShellRun().run(*argv))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not running.done()
        running.cancel()
    assert running.cancelled()

"""The built-in shell, as clients of exec see it: scripts, files, tar and terminals."""

from __future__ import annotations

import asyncio
import io
import tarfile
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import PODS, pod

if TYPE_CHECKING:
    from tests.server.kubelet.remote import Remote


@pytest.fixture
async def web(remote: Remote) -> Remote:
    """A client with a pod, in which a few files are."""
    remote.server.kubelet.files("web")["/etc/motd"] = b"welcome\n"
    body = pod()
    body["spec"]["containers"][0]["env"] = [{"name": "GREETING", "value": "good  day"}]
    await remote.create(body)
    return remote


@pytest.mark.parametrize(
    ("script", "stdout", "stderr", "code"),
    [
        ("echo hi there", "hi there\n", "", 0),
        ("echo -n $GREETING \"$GREETING\" '$GREETING'", "good day good  day $GREETING", "", 0),
        ("cat /etc/motd", "welcome\n", "", 0),
        ("cat /no; echo $?", "1\n", "cat: /no: No such file or directory\n", 0),
        ("false || echo or && echo and; false && echo never", "or\nand\n", "", 1),
        ("! false", "", "", 0),
        ("echo a > /tmp/f; echo b >> /tmp/f; cat < /tmp/f | tail -n 1", "b\n", "", 0),
        ("echo out; echo err >&2", "out\n", "err\n", 0),
        ("cat /no 2>&1 | wc -l; cat /no 2>/dev/null", "1\n", "", 1),
        ("cat < /no", "", "sh: can't open /no: No such file or directory\n", 1),
        ("nope", "", "sh: nope: not found\n", 127),
        ("exit 7; echo never", "", "", 7),
        ("cd /tmp && pwd && cd .. && pwd", "/tmp\n/\n", "", 0),
        ("cd /no", "", "cd: /no: No such file or directory\n", 1),
        ("A=1; A=2 printenv A; echo $A", "2\n1\n", "", 0),
        ("export B=3; sh -c 'echo $B'; (B=4; echo $B); echo ${B}", "3\n4\n3\n", "", 0),
        ("printf '%s-%d\\n' a 1 b 2; printf '%%|%5s|' x", "a-1\nb-2\n%|    x|", "", 0),
        (r"printf '\033[1m\101\303\251%b' '\0101'; printf -- '\n'", "\x1b[1mAéA\n", "", 0),
        (r"echo -e '\0101\101'; echo -e -E '\n'; echo -ne 'a\n'; echo -e 'b\cd'", "A\\101\n\\n\na\nb", "", 0),
        ("printf '%65536s%65536s' a b | wc -c", "131072\n", "", 0),
        (
            "mkdir -p /a/b && touch /a/b/.c /a/d && ls /a && ls -a /a/b && rm -r /a; ls /a",
            "b\nd\n.\n..\n.c\n",
            None,
            2,
        ),
        ("ls -d /etc; ls /etc", "/etc\nhostname\nhosts\nmotd\nresolv.conf\n", "", 0),
        ("cat /etc/hostname; grep nameserver /etc/resolv.conf", "web\nnameserver 10.0.0.10\n", "", 0),
        ("ls -l /etc/motd", "-rw-r--r-- 1 root root        8 Jan  1 00:00 /etc/motd\n", "", 0),
        ("rm /no", "", "rm: /no: No such file or directory\n", 1),
        ("rm -f /no; rm /etc", "", "rm: /etc: Is a directory\n", 1),
        ("[ -d /etc ] && [ ! -e /no ] && test 2 -gt 1 && echo ok", "ok\n", "", 0),
        ("test a = b", "", "", 1),
        ("[ a", "", "[: missing ]\n", 2),
        (
            "A='a b'; [[ $A == 'a b' ]] && [[ -r /etc/motd ]] && [[ ! -e /no ]] && [[ $NONE == '' ]] && echo ok",
            "ok\n",
            "",
            0,
        ),
        ("if [[ -d /etc/motd ]]; then echo folder; else echo file; fi", "file\n", "", 0),
        ("[[ a == b || a == a ]]", "", "sh: syntax error: unsupported test\n", 2),
        ("[[ ab == a* ]]", "", "sh: syntax error: unsupported test\n", 2),
        ("expr 7 % 2; expr 1 + 2 '*' 3; expr '(' 1 + 2 ')' '*' 3; expr -7 / 2", "1\n7\n9\n-3\n", "", 0),
        ("expr 10 '>' 9; expr b '<=' a; expr a = a; expr '' '|' b; expr '' '&' b", "1\n0\n1\nb\n0\n", "", 1),
        ("expr 2 + 2 = 4 > /dev/null && expr 9223372036854775807 + 1", "-9223372036854775808\n", "", 0),
        ("expr 1 / 0 || expr a + 1 || expr || expr 1 2", "", None, 2),
        ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "1\n3\n", "", 0),
        ("while true; do echo x; break; done; until true; do echo y; done", "x\n", "", 0),
        ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n", "", 0),
        ("{ echo a; echo b; } | tail -c 2; sh -c 'exit 3'; echo $?", "b\n3\n", "", 0),
        ("while true; do echo yes; done | head -n 2", "yes\nyes\n", "", 0),
        ("tail -f /no", "", "tail: /no: No such file or directory\n", 1),
        ("head -c 3 /etc/motd; tail -c +4 /etc/motd; tail -c 3 /etc/motd", "welcome\nme\n", "", 0),
        ("echo $0 $1 $#", "sh 0\n", "", 0),
        (
            "i=1; while [ $i -le 3 ]; do echo $i; i=$((i + 1)); done; echo $((i * (2 + 3) % 7)) $((i == 4 ? 10 : 20))",
            "1\n2\n3\n6 10\n",
            "",
            0,
        ),
        ("x=5; echo $((x += 2)) $x $((x++)) $x $((0x10 | 1)) $((-7 / 2)) $((!0))", "7 7 7 8 17 -3 1\n", "", 0),
        ("echo ${NONE:-a b} ${x:=set} $x ${x:+more} ${#x} ${NONE}", "a b set set more 3\n", "", 0),
        ("f=/tmp/a.tar.gz; echo ${f##*/} ${f%.gz} ${f%%.*} ${f#/}", "a.tar.gz /tmp/a.tar /tmp/a tmp/a.tar.gz\n", "", 0),
        ("echo ${NONE:?is missing}", "", "sh: NONE: is missing\n", 2),
        ("case abc in x) echo 1;; a*|b) echo 2;; *) echo 3;; esac", "2\n", "", 0),
        ("(sleep 0; echo late) & echo early; wait; echo done $?", "early\nlate\ndone 0\n", "", 0),
        ("sh -c 'exit 4' & wait $!; echo $?", "4\n", "", 0),
        ("sleep 1000 & kill $!; wait; echo over", "over\n", "", 0),
        ("kill -9 $$; echo never", "", "", 137),
        ("printf 'b 2\na 10\nb 2\n' | sort | uniq -c | sed 's/^ *//'", "1 a 10\n2 b 2\n", "", 0),
        ("printf 'b 2\na 10\nc 1\n' | sort -n -k 2 -r | cut -d ' ' -f 1 | tr '\n' ,", "a,b,c,", "", 0),
        ("printf 'one\ntwo\nthree\n' | grep -n '^t'; echo x | grep -q y || echo none", "2:two\n3:three\nnone\n", "", 0),
        ("printf 'a1\nb22\n' | grep -E -o '[0-9]+' ; printf 'a\nb\n' | grep -vc a", "1\n22\n1\n", "", 0),
        (
            "echo 'key=old' > /tmp/c; sed -i 's/old/new/' /tmp/c; cat /tmp/c; seq 5 | sed -n '2,3p'",
            "key=new\n2\n3\n",
            "",
            0,
        ),
        ("echo Hello | tr a-z A-Z | tr -d L | tee /tmp/t; cat /tmp/t", "HEO\nHEO\n", "", 0),
        ("dd if=/dev/zero of=/tmp/z bs=1k count=3 2>/dev/null; wc -c /tmp/z", "3072 /tmp/z\n", "", 0),
        (
            "head -c 20 /dev/urandom | wc -c; cp /etc/motd /tmp/m; mv /tmp/m /tmp/n; cat /tmp/n; ls /tmp",
            "20\nwelcome\nn\n",
            "",
            0,
        ),
        (
            "echo 'a b c' | while read x y; do echo \"$y-$x\"; done; basename /a/b.txt .txt; dirname /a/b",
            "b c-a\nb\n/a\n",
            "",
            0,
        ),
        ("printf hi | base64; echo aGk= | base64 -d; printf hi | sha256sum | cut -c 1-8", "aGk=\nhi8f434346\n", "", 0),
        (
            "while true; do echo tick; sleep 0; done | head -n 2; id -u; whoami; uname",
            "tick\ntick\n0\nroot\nLinux\n",
            "",
            0,
        ),
        ("date +%Y-%m-%dT%s", "2026-01-01T1767225600\n", "", 0),
        ("chmod 755 /etc/motd; chmod -x /etc/motd; ls -l /etc/motd | head -c 10", "-rw-r--r--", "", 0),
        ("/bin/echo path; command echo too; hostname", "path\ntoo\nweb\n", "", 0),
        ("echo 'unterminated", "", "sh: syntax error: unterminated quoted string\n", 2),
        ('echo $(echo a; echo b) "$(echo c; echo d)"', "a b c\nd\n", "", 0),
        ("A=$(echo $(echo deep) `echo er`); echo $A; B=$(exit 3); echo $(echo ')')", "deep er\n)\n", "", 0),
        ("for i in $(seq 3); do echo $i; done; seq 4 -2 0", "1\n2\n3\n4\n2\n0\n", "", 0),
        ("echo $((1 + ))", "", "sh: arithmetic: syntax error\n", 2),
        ("echo $((1 / 0))", "", "sh: arithmetic: divide by zero\n", 2),
        ("& echo", "", 'sh: syntax error: unexpected "&"\n', 2),
        ("echo hi | gzip -9 | gunzip; echo $?", "hi\n0\n", "", 0),
        ("echo hi | gzip | gzip -d -c", "hi\n", "", 0),
        ("echo hi | gunzip", "", "gunzip: invalid magic\n", 1),
        ("echo hi | gzip | head -c 9 | gunzip", "", "gunzip: unexpected end of file\n", 1),
        ("gzip /etc/motd", "", "gzip: /etc/motd: only stdin to stdout is supported here\n", 1),
        ("date +%Y%m%dx | wc -c; date foo", "10\n", "date: invalid date 'foo'\n", 1),
        ("uptime | wc -l", "1\n", "", 0),
        ("if true; echo", "", 'sh: syntax error: unexpected end of file (expecting "then")\n', 2),
        ("A=xxxxxxxxxx; while true; do A=$A$A; done", "", "sh: Argument list too long\n", 2),
        ("# a comment\n\necho one # more\necho two", "one\ntwo\n", "", 0),
    ],
)
async def test_scripts(web: Remote, script: str, stdout: str, stderr: str | None, code: int) -> None:
    result = await web.shell(script)

    assert (result.stdout, result.code) == (stdout, code), result.stderr
    assert stderr is None or result.stderr == stderr


async def test_a_command_that_does_not_exist_is_the_runtimes_error(web: Remote) -> None:
    status = (await web.exec("psql", "-c", "x")).status

    assert status["reason"] == "InternalError"
    assert 'exec: "psql": executable file not found in $PATH' in status["message"]


async def test_cat_sends_stdin_back_as_it_comes(web: Remote) -> None:
    async with web.open("exec", command=["cat"], stdin=True) as session:
        for line in (b"one\n", b"two\n"):
            await session.send(line)
            assert await session.read() == line
        await session.end_stdin()
        assert (await session.result()).code == 0


async def test_tail_follows_a_file(web: Remote) -> None:
    script = "tail -n 1 -f /etc/motd & sleep 1; echo more >> /etc/motd; sleep 1; echo again >> /etc/motd; wait"
    async with web.open("exec", command=["sh", "-c", script]) as session:
        assert await session.read_until(b"welcome\n") == b"welcome\n"
        web.server.advance(1)
        assert await session.read_until(b"more\n") == b"more\n"
        web.server.advance(1)
        assert await session.read_until(b"again\n") == b"again\n"


async def test_sh_runs_the_lines_of_stdin(web: Remote) -> None:
    result = await web.exec("sh", stdin=b"cd /etc\npwd\nnope\nexit 4\necho never\n")

    assert (result.stdout, result.stderr, result.code) == ("/etc\n", "sh: nope: not found\n", 4)


async def test_sleep_takes_the_servers_time(web: Remote) -> None:
    async with web.open("exec", command=["sh", "-c", "echo a; sleep 1h; echo b"]) as session:
        assert await session.read() == b"a\n"
        web.server.advance(3599)
        for _ in range(50):
            await asyncio.sleep(0)
        web.server.advance(1)
        assert (await session.result()).stdout == "b\n"


async def test_files_are_a_mapping_and_the_shells(web: Remote) -> None:
    files = web.server.kubelet.files("web")
    files["/srv/data/x.bin"] = bytes(range(256))
    await web.shell("rm /etc/motd; echo new > /tmp/new")

    assert (await web.exec("cat", "/srv/data/x.bin")).outputs[1] == bytes(range(256))
    assert sorted(files) == ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/srv/data/x.bin", "/tmp/new"]
    assert (len(files), files["/tmp/new"], "/etc/motd" in files) == (5, b"new\n", False)
    del files["/tmp/new"]
    with pytest.raises(KeyError):
        files["/tmp/new"]
    with pytest.raises(KeyError):
        del files["/tmp"]
    with pytest.raises(IsADirectoryError):
        files["/tmp"] = b"x"


async def test_a_full_disk_is_an_error_of_the_command(remote: Remote) -> None:
    remote.server.kubelet.file_limit = 100_000
    await remote.create(pod())

    result = await remote.exec("sh", "-c", "cat > /tmp/big", stdin=bytes(200_000))
    assert (result.stderr, result.code) == ("cat: No space left on device\n", 1)
    assert (await remote.shell("rm /tmp/big; echo room > /tmp/x; cat /tmp/x")).stdout == "room\n"


def archive(members: dict[str, bytes | str | None], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar file: a directory is None, a link is text."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.mtime = 1_000_000_000
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o750
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return target.getvalue()


LONG = f"{'long/' * 50}naïve name.txt"


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
async def test_tar_extracts_and_creates_what_kubectl_cp_sends_and_reads(web: Remote, form: int) -> None:
    sent: dict[str, bytes | str | None] = {
        "d": None,
        "d/empty": b"",
        "d/big": b"0123456789" * 20_000,
        f"d/{LONG}": b"deep",
        "d/link": "big",
    }
    result = await web.exec("tar", "-xmf", "-", "-C", "/tmp", stdin=archive(sent, form))
    assert (result.stderr, result.code) == ("", 0)
    assert (await web.shell("cat /tmp/d/link | wc -c; ls -l /tmp | head -c 10")).stdout == "200000\ndrwxr-x---"

    result = await web.exec("tar", "cf", "-", "/tmp/d")

    assert (result.stderr, result.code) == ("tar: Removing leading `/' from member names\n", 0)
    with tarfile.open(fileobj=io.BytesIO(result.outputs[1])) as tar:
        found = {each.name: each for each in tar}
        assert found["tmp/d"].isdir()
        assert found["tmp/d/link"].linkname == "big"
        big = tar.extractfile("tmp/d/big")
        assert big is not None
        assert big.read() == sent["d/big"]
        assert found[f"tmp/d/{LONG}"].size == 4


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"no archive" * 100, "tar: This does not look like a tar archive\n"),
        (archive({"a": bytes(2000)})[:1500], "tar: Unexpected EOF in archive\n"),
        (archive({"etc/motd/x": b""}), "tar: /etc/motd: Not a directory\n"),
    ],
)
async def test_a_broken_archive_is_an_error(web: Remote, data: bytes, problem: str) -> None:
    result = await web.exec("tar", "xf", "-", "-C", "/", stdin=data)

    assert (result.stderr, result.code) == (problem, 2)


async def test_names_of_an_archive_stay_below_the_folder(web: Remote) -> None:
    await web.exec("tar", "xf", "-", "-C", "/tmp", stdin=archive({"../../etc/motd": b"evil", "/abs": b"x"}))

    assert web.server.kubelet.files("web")["/etc/motd"] == b"welcome\n"
    assert {"/tmp/etc/motd", "/tmp/abs"} <= set(web.server.kubelet.files("web"))


@pytest.mark.parametrize("arguments", [[], ["f"], ["czf", "-", "/etc"], ["cf", "-"], ["tf", "/no"]])
async def test_invalid_uses_of_tar_are_errors(web: Remote, arguments: list[str]) -> None:
    result = await web.exec("tar", *arguments)

    assert result.code == 2
    assert result.stderr.startswith("tar: ")


async def test_tar_lists_and_uses_files_as_archives(web: Remote) -> None:
    result = await web.shell(
        "cd /; rm etc/host* etc/r*; tar -cvf /tmp/x.tar etc; tar tf /tmp/x.tar; tar xf /tmp/x.tar -C /tmp etc/motd"
    )

    assert (result.stdout, result.stderr) == ("etc/\netc/motd\n", "etc\netc/motd\n")
    assert (await web.shell("cat /tmp/etc/motd")).stdout == "welcome\n"


async def test_a_large_copy_goes_both_ways(remote: Remote) -> None:
    remote.server.kubelet.file_limit = 64 * 1024 * 1024
    await remote.create(pod())
    data = bytes(20 * 1024 * 1024)

    assert (await remote.exec("sh", "-c", "cat > /big", stdin=data)).code == 0
    assert (await remote.exec("cat", "/big")).outputs[1] == data


async def test_a_terminal_edits_lines_echoes_and_interrupts(web: Remote) -> None:
    async with web.open("exec", command=["sh"], stdin=True, tty=True) as session:
        shown = await session.read_until(b"# ")
        await session.send(b"echo helo\x7flo $?\r")
        shown += await session.read_until(b"0\r\n# ")
        await session.send(b"sleep 1000\r")
        shown += await session.read_until(b"1000\r\n")
        await session.send(b"\x03")
        shown += await session.read_until(b"# ")
        await session.send(b"half a line\x03")
        shown += await session.read_until(b"# ")
        await session.send(b"cat\rline\r\x04")
        shown += await session.read_until(b"line\r\nline\r\n# ")
        await session.send(b"\x1b[Aexit 5\r")
        result = await session.result()

    assert shown.startswith(b"# echo helo\b \blo $?\r\nhello 0\r\n# sleep 1000\r\n^C\r\n# half a line^C\r\n# ")
    assert result.code == 5


async def test_ctrl_d_ends_a_shell_and_ctrl_c_a_command(web: Remote) -> None:
    async with web.open("exec", command=["sh"], stdin=True, tty=True) as session:
        await session.send(b"false\r\x04")
        assert (await session.result()).code == 1
    async with web.open("exec", command=["sleep", "100"], stdin=True, tty=True) as session:
        await session.send(b"\x03")
        assert (await session.result()).code == 130


async def test_a_fork_bomb_is_contained(web: Remote) -> None:
    web.server.kubelet.files("web")["/bomb"] = b"sh /bomb | sh /bomb\n"

    async with web.open("exec", command=["sh", "/bomb"]) as session:
        await session.read_until(b"can't fork", channel=2)
    async with web.http.get(PODS) as response:
        assert response.status == 200

"""Exec credential plugins: when they run, what they receive, and all their failures."""

from __future__ import annotations

import asyncio
import logging
import os
import pty
import stat
import sys
from typing import TYPE_CHECKING

import pytest
import trustme
from tests.unit.auth.plugins import V1, V1BETA1, Clock, Line, Program, run_in

from masthead._auth.exec import ExecPlugin
from masthead._meta.secret import Secret
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from pathlib import Path

both_loops_any_thread = pytest.mark.parametrize(
    ("loop", "thread"), [("asyncio", False), ("asyncio", True), ("uvloop", False), ("uvloop", True)]
)


def pair() -> dict[str, str]:
    """A certificate and its key, as an exec plugin returns them."""
    made = trustme.CA().issue_cert("client")
    return {
        "clientCertificateData": made.cert_chain_pems[0].bytes().decode(),
        "clientKeyData": made.private_key_pem.bytes().decode(),
    }


@both_loops_any_thread
def test_a_hundred_callers_share_one_run(tmp_path: Path, loop: str, thread: bool) -> None:
    program = Program(tmp_path).gives(token="abc")

    async def main() -> None:
        plugin = program.plugin()
        values = await asyncio.gather(*(plugin.authorization() for _ in range(100)))
        assert set(values) == {Secret("Bearer abc")}

    run_in(loop, thread=thread, main=main)

    assert program.runs == 1


@pytest.mark.slow
@both_loops_any_thread
def test_a_program_that_hangs_is_killed_and_named(tmp_path: Path, loop: str, thread: bool) -> None:
    program = Program(tmp_path, "import signal; signal.pause()")

    async def main() -> None:
        with pytest.raises(AuthError, match=r'exec plugin ".*" did not finish within 0\.2 s, and was killed'):
            await program.plugin(timeout=0.2).authorization()

    run_in(loop, thread=thread, main=main)


@pytest.mark.slow
@both_loops_any_thread
def test_cancelling_the_first_caller_kills_the_program_and_its_children_and_the_next_runs_it_again(
    tmp_path: Path, loop: str, thread: bool
) -> None:
    async def main() -> None:
        async with Line() as line, asyncio.TaskGroup() as group:
            # The first run forks: parent and child hold the line, which is free when both are gone.
            body = f"if run == 1:\n    os.fork()\n    hang({line.port})\ngive()"
            program = Program(tmp_path, body).gives(token="abc")
            plugin = program.plugin()
            first = group.create_task(plugin.authorization())
            parent, child = await line.called(), await line.called()
            second = group.create_task(plugin.authorization())
            first.cancel()

            assert (await second).reveal() == "Bearer abc"
            assert first.cancelled()
            assert await parent.is_gone()
            assert await child.is_gone()
            assert program.runs == 2

    run_in(loop, thread=thread, main=main)


@both_loops_any_thread
def test_a_child_that_escaped_with_the_output_does_not_hold_up_the_end(tmp_path: Path, loop: str, thread: bool) -> None:
    async def main() -> None:
        async with Line() as line:
            body = f"if os.fork() == 0:\n    os.setsid()\n    hang({line.port})\n    sys.exit()\ngive()"
            plugin = Program(tmp_path, body).gives(token="abc").plugin()
            async with asyncio.TaskGroup() as group:
                task = group.create_task(plugin.authorization())
                call = await line.called()
                task.cancel()
            assert task.cancelled()
            call.hang_up()
            assert await call.is_gone()

    run_in(loop, thread=thread, main=main)


@both_loops_any_thread
def test_a_missing_program_is_reported_with_the_install_hint(loop: str, thread: bool) -> None:
    async def main() -> None:
        plugin = ExecPlugin("no-such-login", install_hint="\nGet it from example.com.\n", now=Clock())
        with pytest.raises(AuthError, match=r'"no-such-login" was not found.*; Get it from example\.com\.$'):
            await plugin.authorization()

    run_in(loop, thread=thread, main=main)


@both_loops_any_thread
def test_endless_output_is_limited(tmp_path: Path, loop: str, thread: bool) -> None:
    program = Program(tmp_path, "while True: print('x' * 65536)")

    async def main() -> None:
        with pytest.raises(AuthError, match="printed more than 1024 KiB, and was killed"):
            await program.plugin().authorization()

    run_in(loop, thread=thread, main=main)


async def test_cancelling_a_waiter_does_not_affect_the_others(tmp_path: Path) -> None:
    async with Line() as line, asyncio.TaskGroup() as group:
        program = Program(tmp_path, f"s = socket.create_connection(('127.0.0.1', {line.port})); "
                                    "s.sendall(b'here'); s.shutdown(1); give()").gives(token="abc")  # fmt: skip
        plugin = program.plugin()
        first = group.create_task(plugin.authorization())
        call = await line.called()
        second = group.create_task(plugin.authorization())
        await asyncio.sleep(0)
        second.cancel()

        assert (await first).reveal() == "Bearer abc"
        assert await call.is_gone()
    assert program.runs == 1


async def test_a_program_is_looked_up_in_its_own_path(tmp_path: Path) -> None:
    script = tmp_path / "login"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -IS {Program(tmp_path).gives(token='abc').script}\n")
    script.chmod(stat.S_IRWXU)

    plugin = ExecPlugin("login", env={"PATH": str(tmp_path)}, interactive=False, now=Clock())

    assert (await plugin.authorization()).reveal() == "Bearer abc"


async def test_a_command_that_is_not_executable_is_an_auth_error(tmp_path: Path) -> None:
    script = tmp_path / "login"
    script.write_bytes(b"\x00not a program")
    script.chmod(stat.S_IRWXU)

    with pytest.raises(AuthError, match="could not be started"):
        await ExecPlugin(str(script), interactive=False, now=Clock()).authorization()
    script.chmod(stat.S_IRUSR)
    with pytest.raises(AuthError, match="was not found, or is not executable; install it"):
        await ExecPlugin(str(script), interactive=False, now=Clock()).authorization()


async def test_a_nul_in_an_argument_is_an_auth_error_that_does_not_quote_it() -> None:
    plugin = ExecPlugin(sys.executable, ("hunter22\0",), interactive=False, now=Clock())

    with pytest.raises(AuthError, match="could not be started") as caught:
        await plugin.authorization()

    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_plugin_receives_the_version_and_the_cluster(tmp_path: Path, version: str) -> None:
    body = (
        "reply(token='|'.join([info['kind'], info['apiVersion'], info['spec']['cluster']['server'], os.environ['X']]))"
    )

    plugin = Program(tmp_path, body).plugin(
        api_version=version, cluster_info={"server": "https://example.com"}, env={"X": "y"}
    )

    assert (await plugin.authorization()).reveal() == f"Bearer ExecCredential|{version}|https://example.com|y"


async def test_the_plugin_receives_the_cluster_only_if_requested(tmp_path: Path) -> None:
    plugin = Program(tmp_path, "reply(token=','.join(info['spec']))").plugin()

    assert (await plugin.authorization()).reveal() == "Bearer interactive"


@pytest.mark.parametrize(
    ("mode", "terminal", "expected"),
    [
        ("Never", True, False),
        ("IfAvailable", False, False),
        ("IfAvailable", True, True),
        ("Always", True, True),
    ],
)
async def test_only_an_interactive_program_shares_our_session(
    tmp_path: Path, mode: str, terminal: bool, expected: bool
) -> None:
    body = "reply(token=f\"{info['spec']['interactive']}-{os.getsid(0) == os.getsid(os.getppid())}\")"

    plugin = Program(tmp_path, body).plugin(interactive_mode=mode, interactive=terminal)

    assert (await plugin.authorization()).reveal() == f"Bearer {expected}-{expected}"


@both_loops_any_thread
def test_an_interactive_program_that_hangs_is_killed_too(tmp_path: Path, loop: str, thread: bool) -> None:
    program = Program(tmp_path, "import signal; signal.pause()")

    async def main() -> None:
        with pytest.raises(AuthError, match=r"did not finish within 0\.2 s, and was killed"):
            await program.plugin(timeout=0.02, interactive=True).authorization()

    run_in(loop, thread=thread, main=main)


async def test_a_terminal_is_detected_by_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path, "reply(token=str(info['spec']['interactive']))")
    terminal, ours = pty.openpty()

    with os.fdopen(ours) as stdin, os.fdopen(terminal):
        monkeypatch.setattr(sys, "__stdin__", stdin)
        assert (await program.plugin(interactive=None).authorization()).reveal() == "Bearer True"
    assert (await program.plugin(interactive=None).authorization()).reveal() == "Bearer False"
    monkeypatch.setattr(sys, "__stdin__", None)
    assert (await program.plugin(interactive=None).authorization()).reveal() == "Bearer False"


async def test_a_plugin_that_is_not_interactive_has_no_input(tmp_path: Path) -> None:
    plugin = Program(tmp_path, "reply(token=f'read-{len(sys.stdin.read())}')").plugin()

    assert (await plugin.authorization()).reveal() == "Bearer read-0"


async def test_a_plugin_that_must_prompt_is_not_run_without_a_terminal(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="abc")

    with pytest.raises(AuthError, match="must prompt on a terminal, and none is attached"):
        await program.plugin(interactive_mode="Always").authorization()

    assert program.runs == 0


async def test_a_credential_is_cached_until_shortly_before_its_expiry(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="old", expirationTimestamp="2026-01-01T01:00:00.25+00:00")
    plugin = program.plugin()
    assert (await plugin.authorization()).reveal() == "Bearer old"
    program.gives(token="new", expirationTimestamp="2026-01-01T02:00:00Z")

    program.clock.advance(3589)
    assert (await plugin.authorization()).reveal() == "Bearer old"
    program.clock.advance(2)
    assert (await plugin.authorization()).reveal() == "Bearer new"

    assert program.runs == 2


async def test_a_credential_close_to_its_expiry_is_used_until_then(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="late", expirationTimestamp="2026-01-01T00:00:05Z")
    plugin = program.plugin()

    for _ in range(5):
        assert (await plugin.authorization()).reveal() == "Bearer late"
        program.clock.advance(0.9)
    assert program.runs == 1
    program.clock.advance(1)
    assert (await plugin.authorization()).reveal() == "Bearer late"
    assert program.runs == 2


async def test_an_expiry_in_year_one_means_expired(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="abc", expirationTimestamp="0001-01-01T00:00:00Z")
    plugin = program.plugin()

    assert (await plugin.authorization()).reveal() == (await plugin.authorization()).reveal() == "Bearer abc"
    assert program.runs == 2


async def test_one_run_serves_the_token_and_the_certificate_of_a_request_even_if_they_are_expired(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path).gives(token="abc", expirationTimestamp="2025-01-01T00:00:00Z", **pair())
    plugin = program.plugin()

    for request in (1, 2):
        assert (await plugin.authorization()).reveal() == "Bearer abc"
        assert await plugin.certificate() is not None
        assert program.runs == request
    program.clock.advance(1)
    assert await plugin.certificate() is not None
    assert program.runs == 3


async def test_a_credential_without_expiry_is_kept_until_it_is_rejected(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="old", expirationTimestamp=None)
    plugin = program.plugin()
    assert (await plugin.authorization()).reveal() == "Bearer old"
    program.clock.advance(10**8)
    assert (await plugin.authorization()).reveal() == "Bearer old"
    program.gives(token="new")

    assert await plugin.renew(Secret("Bearer old"))
    assert (await plugin.authorization()).reveal() == "Bearer new"
    assert program.runs == 2


async def test_many_rejections_of_one_token_run_the_program_once(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="old")
    plugin = program.plugin()
    await plugin.authorization()
    program.gives(token="new")

    assert all(await asyncio.gather(*(plugin.renew(Secret("Bearer old")) for _ in range(50))))
    assert await plugin.renew(Secret("Bearer old"))

    assert program.runs == 2


async def test_an_unchanged_credential_does_not_cause_a_retry(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(token="abc")
    plugin = program.plugin()
    await plugin.authorization()

    assert not await plugin.renew(Secret("Bearer abc"))
    assert program.runs == 2


async def test_a_rejected_certificate_is_renewed_once_for_all_callers(tmp_path: Path) -> None:
    program = Program(tmp_path).gives(**pair())
    plugin = program.plugin()
    old = await plugin.certificate()
    program.clock.advance(60)
    program.gives(**pair())

    assert (await plugin.authorization()).reveal() == ""
    assert await plugin.renew(Secret(""))
    assert await plugin.renew(Secret(""))

    new = await plugin.certificate()
    assert old is not None
    assert new is not None
    assert new != old
    assert program.runs == 2


async def test_a_plugin_may_return_both_a_token_and_a_certificate(tmp_path: Path) -> None:
    plugin = Program(tmp_path).gives(token="abc", **pair()).plugin()

    assert (await plugin.authorization()).reveal() == "Bearer abc"
    assert await plugin.certificate() is not None


async def test_concurrent_waiters_share_a_failure_and_the_next_call_retries(tmp_path: Path) -> None:
    program = Program(tmp_path, "sys.exit('not logged in') if run == 1 else give()").gives(token="abc")
    plugin = program.plugin()

    outcomes = await asyncio.gather(*(plugin.authorization() for _ in range(50)), return_exceptions=True)

    assert {type(outcome) for outcome in outcomes} == {AuthError}
    assert len({id(outcome) for outcome in outcomes}) == 50
    assert all("not logged in" in str(outcome) for outcome in outcomes)
    assert program.runs == 1
    assert (await plugin.authorization()).reveal() == "Bearer abc"


async def test_a_failed_renewal_is_an_error_and_does_not_reuse_the_old_credential(tmp_path: Path) -> None:
    program = Program(tmp_path, "sys.exit(1) if run == 2 else give()").gives(token="abc")
    plugin = program.plugin()
    await plugin.authorization()

    with pytest.raises(AuthError, match=r"failed with exit code 1; stderr: \(empty\)"):
        await plugin.renew(Secret("Bearer abc"))


FAILURES = {
    "sys.stderr.write('first\\n\\x1b[31mlast words\\x1b[0m\\n'); sys.exit(3)": "exit code 3; stderr: first | last words",  # noqa: E501
    "os.kill(os.getpid(), 15)": "failed with signal 15",
    "": "printed nothing",
    "print('Please log in.')": "did not print a valid ExecCredential in JSON: JSON is malformed",
    'sys.stdout.buffer.write(b\'{"kind": "\\xff"}\')': "did not print a valid ExecCredential in JSON: it is not UTF-8",
    "print('{\"status\": {\"x\":' + '[' * 100000)": "nested without end",
    "print('[]')": "Expected `object`, got `array`",
    "reply(token=5)": "text was expected - at `$.status.token`",
    "reply(kind='Secret', token='x')": "kind 'Secret'",
    "reply(version='client.authentication.k8s.io/v1beta1', token='x')": "set the apiVersion that it supports",
    "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential'}))": "an ExecCredential without a status",  # noqa: E501
    "reply()": "printed neither a token nor a certificate",
    "reply(token='')": "printed neither a token nor a certificate",
    "reply(clientCertificateData='x')": "printed a client certificate without its key",
    "reply(token='x', clientKeyData='x')": "printed a client key without its certificate",
    "reply(clientCertificateData='x', clientKeyData='y')": "cannot be used: it is not PEM, or is damaged",
    "reply(token='x', expirationTimestamp='tomorrow')": "not an RFC 3339 time",
    "reply(token='x\\ny: z')": "contains blanks, line breaks",
    "print('rubbish'); sys.stderr.write('look here')": "; stderr: look here",
}


@pytest.mark.parametrize("body", FAILURES)
async def test_every_failure_names_the_program_and_what_is_wrong(tmp_path: Path, body: str) -> None:
    plugin = Program(tmp_path, body).plugin()

    for method in (plugin.authorization, plugin.certificate):
        with pytest.raises(AuthError) as caught:
            await method()
        assert f'exec plugin "{sys.executable}"' in str(caught.value)
        assert FAILURES[body] in str(caught.value)


LEAKS = [
    "sys.exit('cannot use ' + os.environ['API_KEY'])",
    "reply(kind='Oops', token='hunter22')",
    "reply(token='hunter22', expirationTimestamp='hunter22')",
    "reply(token='hunter22 hunter22')",
    "reply(clientKeyData='hunter22')",
    "reply(clientCertificateData='hunter22', clientKeyData='hunter22')",
    "print('hunter22')",
    'print(\'{"status": {"token": "hunter22\')',
    'sys.stdout.buffer.write(b\'{"status": {"token": "hunter22\\xff"}}\')',
]


@pytest.mark.parametrize("body", LEAKS)
async def test_no_secret_is_in_an_error_a_log_or_a_repr(
    tmp_path: Path, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    plugin = Program(tmp_path, body).plugin(env={"API_KEY": "hunter22"})

    with pytest.raises(AuthError) as caught:
        await plugin.authorization()

    cause = caught.value.__cause__
    shown = f"{caught.value!r} {cause!r} {plugin!r} {caplog.text}"
    assert "hunter22" not in shown


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"command": ""}, "needs a command"),
        ({"api_version": "client.authentication.k8s.io/v1alpha1"}, "apiVersion of .*/v1 or .*/v1beta1"),
        ({"interactive_mode": "Sometimes"}, "interactiveMode of Never or IfAvailable or Always"),
    ],
)
def test_invalid_settings_are_rejected_at_once(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ExecPlugin(**{"command": "x", **wrong}, now=Clock())  # type: ignore[arg-type]


async def test_messages_do_not_quote_the_arguments_of_a_program(tmp_path: Path) -> None:
    body = "print('usage:', *sys.argv[1:], file=sys.stderr); sys.exit(2)"
    plugin = Program(tmp_path, body).plugin(args=["--password=hunter22", "--token", "t0ken-of-mine", "-v"])

    with pytest.raises(AuthError, match=r"stderr: usage: --password=\*\*\* --token \*\*\* -v$"):
        await plugin.authorization()

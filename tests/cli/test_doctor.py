"""``masthead doctor``: what is wrong, and what to do about it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import Terminal

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    from masthead.server import Server

    Cli = Callable[..., Ran]


def checks(ran: Ran) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in json.loads(ran.out)["checks"]}


def marks(ran: Ran) -> dict[str, str]:
    return {name: each["mark"] for name, each in checks(ran).items()}


def test_a_healthy_cluster_has_no_failures(cli: Cli, server: Server) -> None:
    ran = cli("doctor -o json")

    assert ran.code == 0
    assert json.loads(ran.out)["healthy"] is True
    assert set(marks(ran).values()) == {"ok"}
    assert server.token is not None
    assert server.token not in cli("doctor").out


def test_findings_are_lines_and_a_summary(cli: Cli) -> None:
    lines = cli("doctor").out.splitlines()

    assert lines[0].startswith("✓ configuration  https://127.0.0.1:")
    assert lines[-1] == "15 ok"


def test_no_configuration_is_the_first_failure(cli: Cli) -> None:
    ran = cli("--kubeconfig /no/such/file doctor")

    assert ran.code == 1
    assert "✗ configuration  /no/such/file" in ran.out
    assert "· not checked    credentials, dns, tcp" in ran.out


@pytest.mark.parametrize(
    ("url", "failed"),
    [("https://nothing.invalid", "dns"), ("https://127.0.0.1:1", "tcp")],
)
def test_each_step_of_the_network_is_checked_by_itself(url: str, failed: str, cli: Cli) -> None:
    ran = cli(f"--server {url} doctor -o json")

    assert ran.code == 1
    found = marks(ran)
    assert [name for name, mark in found.items() if mark == "fail"] == [failed]
    assert found["http"] == "skip"
    assert checks(ran)[failed]["hint"]


@pytest.mark.slow
def test_a_port_that_does_not_speak_tls_is_found(cli: Cli) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as plain:
        thread = threading.Thread(target=plain.serve_forever)
        thread.start()
        ran = cli(f"--server https://127.0.0.1:{plain.server_port} doctor -o json")
        plain.shutdown()
        thread.join()

    assert marks(ran)["tls"] == "fail"
    assert "https its scheme" in checks(ran)["tls"]["hint"]


def test_certificates_are_verified(cli: Cli, tmp_path: Path) -> None:
    with masthead.server.run(tls=True) as running:
        trusted = cli(f"--kubeconfig {running.write_kubeconfig(tmp_path / 'trusted')} doctor -o json")
        stranger = cli(f"--server {running.url} --token {running.token} doctor -o json")
        careless = cli(f"--server {running.url} --token {running.token} --insecure-skip-tls-verify doctor -o json")

    assert (trusted.code, marks(trusted)["tls"]) == (0, "ok")
    assert "expires" in checks(trusted)["tls"]["facts"]
    assert (stranger.code, marks(stranger)["tls"]) == (1, "fail")
    assert "certificate-authority" in checks(stranger)["tls"]["hint"]
    assert (careless.code, marks(careless)["tls"]) == (0, "warn")


def test_who_is_not_known_is_told_so(cli: Cli, server: Server) -> None:
    ran = cli(f"--server {server.url} --token wrong doctor -o json")

    assert ran.code == 1
    assert marks(ran)["http"] == "ok"
    assert marks(ran)["identity"] == "fail"
    assert "log in" in checks(ran)["identity"]["hint"]
    assert [name for name, mark in marks(ran).items() if mark == "fail"] == ["identity"]
    assert checks(ran)["watch"]["facts"] == {"needs": "identity"}


def test_what_is_forbidden_missing_and_throttled_is_found(cli: Cli, server: Server) -> None:
    server.faults.throttle(retry_after=0, verb="list", resource="pods", times=1)
    server.faults.fail(403, verb="watch", resource="pods", times=None)
    server.faults.fail(403, verb="list", resource="pods", times=None)
    ran = cli("doctor -n nowhere -o json")

    assert ran.code == 1
    found = marks(ran)
    assert (found["namespace"], found["watch"]) == ("fail", "fail")


@pytest.mark.slow
def test_a_check_that_hangs_does_not_hold_up_the_others(
    cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masthead._cli.doctor._PATIENCE", 0.5)
    server.faults.delay(600, verb="get", resource="namespaces", times=None)
    ran = cli("doctor -o json")

    assert ran.code == 1
    assert checks(ran)["namespace"]["line"] == "took longer than 0.5 s"
    assert marks(ran)["watch"] == "ok"


@pytest.mark.slow
def test_the_time_that_a_request_may_take_is_that_of_the_option(cli: Cli, server: Server) -> None:
    server.faults.delay(600, verb="get", resource="namespaces", times=None)
    found = checks(cli("doctor --request-timeout 0.5 -o json"))["namespace"]

    assert "no complete response" in found["line"]
    assert "--request-timeout" in found["hint"]


def test_a_terminal_shows_marks_in_colour(environ: dict[str, str]) -> None:
    with Terminal(["doctor", "-n", "shop"], environ) as screen:
        assert screen.finish() == 0
        assert "\x1b[32m✓\x1b[0m" in screen.output
        assert screen.is_as_before


def test_a_terminal_without_such_characters_has_words(environ: dict[str, str]) -> None:
    with Terminal(["doctor"], {**environ, "PYTHONIOENCODING": "ascii", "TERM": "dumb"}) as screen:
        assert screen.finish() == 0
        assert "ok   configuration" in screen.output
        assert "\x1b" not in screen.output

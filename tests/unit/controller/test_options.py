"""Options of a run: arguments override the environment, and the environment overrides the code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._controller.options import ENVIRONMENT
from masthead._endpoint.bind_address import BindAddress, parse_bind_address
from masthead.controller import RunOptions, RunOverrides
from masthead.errors import ArgumentError, ConfigError


def test_overrides_are_the_options() -> None:
    assert [field.name for field in fields(RunOptions)] == list(RunOverrides.__annotations__)
    assert [name for name, _ in ENVIRONMENT.values()] == [field.name for field in fields(RunOptions)]


def test_arguments_override_the_environment_and_the_environment_overrides_the_code() -> None:
    code = RunOptions(metrics_bind=":1", probe_bind=":2", debug_bind=":3", graceful_timeout=4)

    found = RunOptions.from_environment(
        {"MASTHEAD_METRICS_BIND": ":10", "MASTHEAD_PROBE_BIND": ":20"}, code
    ).overridden(metrics_bind=":100")

    assert (found.metrics_bind, found.probe_bind, found.debug_bind) == (":100", ":20", ":3")
    assert found.graceful_timeout == 4


def test_every_option_can_be_set_by_the_environment() -> None:
    environment = {
        "MASTHEAD_NAMESPACE": "a, b,a",
        "MASTHEAD_KUBECONFIG": "/etc/kubeconfig",
        "MASTHEAD_CONTEXT": "dev",
        "MASTHEAD_IDENTITY": "web-0",
        "MASTHEAD_LEADER_ELECTION": "true",
        "MASTHEAD_LEADER_ELECTION_ID": "websites.example.com",
        "MASTHEAD_LEADER_ELECTION_NAMESPACE": "operators",
        "MASTHEAD_LEASE_DURATION": "60",
        "MASTHEAD_RENEW_DEADLINE": "40",
        "MASTHEAD_RETRY_PERIOD": "5.5",
        "MASTHEAD_SHARDING": "on",
        "MASTHEAD_METRICS_BIND": "127.0.0.1:0",
        "MASTHEAD_PROBE_BIND": "0",
        "MASTHEAD_DEBUG_BIND": "[::1]:6060",
        "MASTHEAD_UI": "true",
        "MASTHEAD_WEBHOOK_BIND": ":9443",
        "MASTHEAD_WEBHOOK_URL": "https://laptop:9443",
        "MASTHEAD_WEBHOOK_CERT_DIR": "/certificates",
        "MASTHEAD_RECORD": "/recordings/web.mhr",
        "MASTHEAD_GRACEFUL_TIMEOUT": "10",
        "MASTHEAD_LOG_FORMAT": "json",
        "MASTHEAD_LOG_LEVEL": "debug",
    }
    assert environment.keys() == ENVIRONMENT.keys()

    assert RunOptions.from_environment(environment) == RunOptions(
        namespaces=("a", "b"),
        kubeconfig="/etc/kubeconfig",
        context="dev",
        identity="web-0",
        leader_election=True,
        leader_election_id="websites.example.com",
        leader_election_namespace="operators",
        lease_duration=60,
        renew_deadline=40,
        retry_period=5.5,
        sharding=True,
        metrics_bind="127.0.0.1:0",
        probe_bind="0",
        debug_bind="[::1]:6060",
        ui=True,
        webhook_bind=":9443",
        webhook_url="https://laptop:9443",
        webhook_cert_dir="/certificates",
        record="/recordings/web.mhr",
        graceful_timeout=10,
        log_format="json",
        log_level="debug",
    )


def test_empty_and_unknown_variables_change_nothing() -> None:
    code = RunOptions(namespaces=("a",))
    assert RunOptions.from_environment({"MASTHEAD_NAMESPACE": " ", "MASTHEAD_PORT": "tcp://x"}, code) == code


def test_a_star_stands_for_all_namespaces() -> None:
    code = RunOptions(namespaces=("a",))
    assert RunOptions.from_environment({"MASTHEAD_NAMESPACE": "*"}, code).namespaces == ()


@pytest.mark.parametrize(
    ("variable", "value", "advice"),
    [
        ("MASTHEAD_NAMESPACE", "Web", "may hold only a-z"),
        ("MASTHEAD_LEADER_ELECTION", "maybe", "write true or false"),
        ("MASTHEAD_LEADER_ELECTION_ID", "My Operator", "may hold only a-z"),
        ("MASTHEAD_GRACEFUL_TIMEOUT", "10s", "number of seconds"),
        ("MASTHEAD_GRACEFUL_TIMEOUT", "-1", "number of seconds"),
        ("MASTHEAD_GRACEFUL_TIMEOUT", "nan", "number of seconds"),
        ("MASTHEAD_METRICS_BIND", "8080", "':8080' for all interfaces"),
        ("MASTHEAD_LOG_FORMAT", "xml", "'text' or 'json'"),
        ("MASTHEAD_LOG_LEVEL", "loud", "DEBUG, INFO"),
    ],
)
def test_an_invalid_variable_is_named_with_advice(variable: str, value: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=f"environment variable {variable}='{value}'") as raised:
        RunOptions.from_environment({variable: value})
    assert advice in str(raised.value)


def test_a_string_is_not_a_sequence_of_namespaces() -> None:
    with pytest.raises(ArgumentError, match=r"\('web',\)"):
        RunOptions(namespaces="web")  # type: ignore[arg-type]


def test_an_unknown_option_raises() -> None:
    with pytest.raises(TypeError, match="metric_bind"):
        RunOptions().overridden(metric_bind=":1")  # type: ignore[call-arg]


@given(st.dictionaries(st.sampled_from(sorted(ENVIRONMENT)), st.text(max_size=20)))
def test_any_environment_gives_options_or_a_config_error(environment: dict[str, str]) -> None:
    with suppress(ConfigError):
        found = RunOptions.from_environment(environment)
        assert found == RunOptions(**asdict(found))


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        (":8080", "", 8080),
        (":0", "", 0),
        ("127.0.0.1:80", "127.0.0.1", 80),
        ("localhost:0", "localhost", 0),
        ("[::1]:65535", "::1", 65535),
    ],
)
def test_addresses_are_written_as_in_go(text: str, host: str, port: int) -> None:
    found = parse_bind_address(text)
    assert found == BindAddress(host, port)
    assert str(found) == text


def test_zero_is_off() -> None:
    assert parse_bind_address("0") is None


@pytest.mark.parametrize("text", ["", "8080", "::1:80", ":65536", ":-1", ":http", "a b", ":\u0661", "[::1]"])
def test_an_invalid_address_is_named_with_examples(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"probe_bind: .* is not an address; write ':8080'"):
        parse_bind_address(text, "probe_bind")

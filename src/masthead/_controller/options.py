"""Options of a manager's run: from the code, the environment and arguments, in order of increasing precedence."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, cast

from masthead._endpoint.bind_address import parse_bind_address
from masthead._errors.options import explain_options
from masthead._meta import names
from masthead._module import set_module
from masthead._webhook.locations import check_url
from masthead.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Unpack

__all__ = ["ALL_NAMESPACES", "ENVIRONMENT", "LogFormat", "RunOptions", "RunOverrides"]

LogFormat: TypeAlias = Literal["", "text", "json"]
"""The format of log lines; empty to leave the program's logging unchanged."""

ALL_NAMESPACES: Final = "*"
"""All namespaces, in arguments and in the environment."""

_LOG_FORMATS: Final = ("", "text", "json")
_SECONDS: Final = ("graceful_timeout", "lease_duration", "renew_deadline", "retry_period")


@set_module("masthead.controller")
class RunOverrides(TypedDict, total=False):
    """The arguments of `Manager.run`, which take precedence over the environment and the code. See `RunOptions`."""

    namespaces: tuple[str, ...]
    kubeconfig: str
    context: str
    identity: str
    leader_election: bool
    leader_election_id: str
    leader_election_namespace: str
    lease_duration: float
    renew_deadline: float
    retry_period: float
    sharding: bool
    metrics_bind: str
    probe_bind: str
    debug_bind: str
    ui: bool
    webhook_bind: str
    webhook_url: str
    webhook_cert_dir: str
    record: str
    graceful_timeout: float
    log_format: LogFormat
    log_level: str


@set_module("masthead.controller")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a manager's run.

    Each option can be set in the code, by an environment variable, and by an argument of ``masthead run``. Arguments
    take precedence over the environment, and the environment over the code.

    Attributes:
        namespaces: The namespaces to watch; empty for all.
        kubeconfig: The path of the kubeconfig; empty for the cluster that kubectl would use.
        context: The context of the kubeconfig; empty for the current context.
        identity: The unique name of this replica; empty for the host name and a random part.
        leader_election: Whether controllers run only while this process is the leader.
        leader_election_id: The name of the Lease.
        leader_election_namespace: The namespace of the Lease; empty for the client's.
        lease_duration: Seconds after the last renewal at which the lease expires.
        renew_deadline: Seconds after the last renewal at which a leader stops.
        retry_period: Seconds between attempts to acquire or renew the lease.
        sharding: Whether replicas divide the objects among them.
        metrics_bind: The address of ``/metrics``; ``0`` for off, ``:0`` for any free port.
        probe_bind: The address of ``/healthz``, ``/readyz`` and ``/livez``; ``0`` for off.
        debug_bind: The address of ``/debug``; ``0`` for off. The page contains object names and stacks, and has no
            authentication: bind it to ``127.0.0.1``, and use ``kubectl port-forward``.
        ui: Whether the page of ``masthead ui`` shows the caches and reconciles of this run, at the address of
            ``/debug``, which must be on this machine; by default, any free port.
        webhook_bind: The address of webhooks; ``0`` for off. Nothing listens there without declared webhooks.
        webhook_url: The URL at which the API server reaches this process during development, such as
            ``https://laptop.example.com:9443``: webhooks are registered with it, and removed at the stop. Empty for the
            Service and the configurations of ``masthead manifests``.
        webhook_cert_dir: The folder with ``tls.crt`` and ``tls.key`` of the webhooks, read again when they change;
            empty for certificates that the manager issues and keeps in a Secret.
        record: The file of a recording of all caches and reconciles; empty for the manager's ``record``.
        graceful_timeout: Seconds that running reconciles and timers have to finish when the process is asked to stop.
            With the default, the process ends before the kubelet kills its pod after 30 seconds.
        log_format: ``text`` or ``json``; empty to leave the program's logging unchanged.
        log_level: The log level, such as ``INFO``; empty to leave the program's logging unchanged.

    Raises:
        ArgumentError: If an option is invalid.
    """

    namespaces: tuple[str, ...] = ()
    kubeconfig: str = ""
    context: str = ""
    identity: str = ""
    leader_election: bool = False
    leader_election_id: str = ""
    leader_election_namespace: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    sharding: bool = False
    metrics_bind: str = ":8080"
    probe_bind: str = ":8081"
    debug_bind: str = "0"
    ui: bool = False
    webhook_bind: str = ":9443"
    webhook_url: str = ""
    webhook_cert_dir: str = ""
    record: str = ""
    graceful_timeout: float = 25.0
    log_format: LogFormat = ""
    log_level: str = ""

    def __post_init__(self) -> None:
        if isinstance(cast("object", self.namespaces), str):
            raise ArgumentError(
                f"namespaces must be a sequence of names, such as ({self.namespaces!r},)",
                value=self.namespaces,
            )
        for namespace in (*self.namespaces, self.leader_election_namespace):
            if namespace and (problem := names.problem_with_dns1123_label(namespace)):
                raise ArgumentError(f"namespaces: {names.quote(namespace)} {problem}", value=namespace)
        if self.leader_election_id and (problem := names.problem_with_dns1123_subdomain(self.leader_election_id)):
            raise ArgumentError(
                f"leader_election_id: {names.quote(self.leader_election_id)} {problem}",
                value=self.leader_election_id,
            )
        # Parsed here only for the error: a bad address should fail before anything starts.
        for name in ("metrics_bind", "probe_bind", "debug_bind", "webhook_bind"):
            parse_bind_address(getattr(self, name), name)
        if self.webhook_url:
            check_url(self.webhook_url)
        for name in _SECONDS:
            _check_seconds(name, getattr(self, name))
        if self.log_level and self.log_level.upper() not in logging.getLevelNamesMapping():
            raise ArgumentError(
                f"log_level must be DEBUG, INFO, WARNING, ERROR or CRITICAL, not {self.log_level!r}",
                value=self.log_level,
            )
        if self.log_format not in _LOG_FORMATS:
            raise ArgumentError(f"log_format must be 'text' or 'json', not {self.log_format!r}", value=self.log_format)

    def overridden(self, **overrides: Unpack[RunOverrides]) -> RunOptions:
        """Return a copy with some options replaced.

        Raises:
            ArgumentError: If an option is invalid.
            TypeError: If an option does not exist.
        """
        try:
            return replace(self, **overrides)
        except TypeError as error:
            # The class is internal to the call: users write app.run(namespaces=...), or Environment(app, ...).
            raise explain_options(error, "run()", RunOptions, overrides) from None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], base: RunOptions | None = None) -> RunOptions:
        """Return options with the values of environment variables. Empty variables are ignored.

        Args:
            environment: The variables, usually ``os.environ``.
            base: The options in the code; None for the defaults.

        Raises:
            ConfigError: If a variable is invalid.
        """
        options = base or cls()
        for variable, (name, parse) in ENVIRONMENT.items():
            text = environment.get(variable, "").strip()
            if not text:
                continue
            try:
                options = options.overridden(**cast("RunOverrides", {name: parse(text)}))
            # Names the variable, which the error of the option does not.
            except ValueError as error:
                raise ConfigError(f"environment variable {variable}={text!r}: {error}") from None
        return options


def _check_seconds(name: str, seconds: object) -> None:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    # The negated comparison rejects NaN, which compares as false.
    if not is_number or not cast("float", seconds) >= 0:
        raise ArgumentError(f"{name} must be a number of seconds, not {seconds!r}", value=seconds)


def parse_namespaces(text: str) -> tuple[str, ...]:
    """Parse comma-separated names; ``*`` means all namespaces, and gives an empty tuple."""
    namespaces = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    return () if ALL_NAMESPACES in namespaces else namespaces


def _parse_bool(text: str) -> bool:
    if text.lower() in {"true", "1", "yes", "on"}:
        return True
    if text.lower() in {"false", "0", "no", "off"}:
        return False
    raise ValueError("write true or false")


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("write a number of seconds, such as 25") from None


_PARSERS: Final[dict[str, Callable[[str], object]]] = {
    "namespaces": parse_namespaces,
    "leader_election": _parse_bool,
    "sharding": _parse_bool,
    "ui": _parse_bool,
    **dict.fromkeys(_SECONDS, _parse_seconds),
}
_VARIABLES: Final = {"namespaces": "MASTHEAD_NAMESPACE"}

ENVIRONMENT: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    _VARIABLES.get(field.name, f"MASTHEAD_{field.name.upper()}"): (field.name, _PARSERS.get(field.name, str))
    for field in fields(RunOptions)
}
"""Environment variables with the name and the parser of their option."""

"""Composes the webhooks of a manager's run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead._controller.user_errors import describe_error, with_user_frames
from masthead._endpoint.bind_address import parse_bind_address
from masthead._webhook.locations import check_url, server_names, service_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._client.client import Client
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._controller.user_errors import FailureLog
    from masthead._webhook.certificate_sources import CertificateSource
    from masthead._webhook.injection import WebhookRegistration
    from masthead._webhook.rotation import RotationPolicy
    from masthead._webhook.runtime import WebhookRuntime
    from masthead.metrics import Metrics

__all__ = ["make_webhooks", "serves_webhooks"]

_log: Final = logging.getLogger("masthead.controller")


def serves_webhooks(manager: Manager, options: RunOptions) -> bool:
    """Whether a run serves webhooks."""
    return bool(manager.webhooks) and parse_bind_address(options.webhook_bind) is not None


def make_webhooks(
    manager: Manager,
    options: RunOptions,
    client: Client,
    factory: SharedInformerFactory,
    *,
    threads: ThreadRunner,
    failures: FailureLog,
    metrics: Metrics,
    clock: Callable[[], datetime],
) -> WebhookRuntime:
    """Create the webhooks of a run, with the informers that they need.

    Args:
        manager: The declared webhooks.
        options: The options of the run.
        client: The client of the cluster.
        factory: The informers, not started yet.
        threads: Runs plain functions.
        failures: Records failing functions.
        metrics: The metrics registry.
        clock: The clock for certificates.

    Raises:
        ConfigError: If cryptography is missing, or a version of a custom resource cannot be converted.
    """
    # Imported here, because most managers have no webhooks.
    from masthead._webhook.rotation import RotationPolicy
    from masthead._webhook.runtime import WebhookRuntime

    policy = manager.webhook_certificates or RotationPolicy()
    bind = parse_bind_address(options.webhook_bind, "webhook_bind")
    assert bind is not None  # see `serves_webhooks`
    source = _make_source(manager, options, client, policy, clock)

    def report(name: str, error: BaseException | None) -> None:
        _report(failures, name, error)

    def wake() -> None:
        runtime.notice_change()

    runtime = WebhookRuntime(
        manager.webhooks,
        client,
        name=manager.name,
        bind=bind,
        source=source,
        registration=_make_registration(manager, options, client, factory, wake, clock),
        threads=threads,
        metrics=metrics,
        report=report,
    )
    return runtime


def _make_source(
    manager: Manager,
    options: RunOptions,
    client: Client,
    policy: RotationPolicy,
    clock: Callable[[], datetime],
) -> CertificateSource:
    from masthead._webhook.certificate_sources import FileCertificates, MemoryCertificates, SecretCertificates

    if options.webhook_cert_dir:
        return FileCertificates(options.webhook_cert_dir, needs_bundle=bool(options.webhook_url))
    if options.webhook_url:
        return MemoryCertificates(frozenset({check_url(options.webhook_url)}), policy, clock)
    service = service_name(manager.name)
    names = server_names(client.namespace, service)
    return SecretCertificates(client, client.namespace, service, names, policy, clock)


def _make_registration(
    manager: Manager,
    options: RunOptions,
    client: Client,
    factory: SharedInformerFactory,
    wake: Callable[[], None],
    clock: Callable[[], datetime],
) -> WebhookRegistration:
    from masthead._webhook.development import DevelopmentRegistration
    from masthead._webhook.injection import BundleInjector, NoRegistration

    if options.webhook_url:
        return DevelopmentRegistration(client, manager.webhooks, manager.name, options.webhook_url, clock)
    if options.webhook_cert_dir:
        return NoRegistration()
    return BundleInjector(
        client, factory, manager.webhooks, manager.name, (client.namespace, service_name(manager.name)), wake
    )


def _report(failures: FailureLog, name: str, error: BaseException | None) -> None:
    label = f"webhook {name}"
    if error is None:
        failures.clear(label)
        return
    failures.add(label, error)
    _log.error("webhook %s failed: %s", name, describe_error(error), exc_info=with_user_frames(error))

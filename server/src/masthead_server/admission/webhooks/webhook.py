"""One webhook of a configuration, prepared for requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.admission.matching import RequestMatcher
from masthead_server.resources.validation.checks import words
from masthead_server.resources.webhook_clients import webhook_of
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.conditions import MatchConditions
    from masthead_server.cluster import ClusterState
    from masthead_server.webhooks import Webhook
    from masthead_server.wire.plain import Plain

__all__ = ["AdmissionWebhook", "read_webhooks"]

_TIMEOUT: Final = 10
"""Seconds for a call, if a webhook does not say."""
_WITHOUT_EFFECT: Final = frozenset({"None", "NoneOnDryRun"})


@dataclass(frozen=True, slots=True)
class AdmissionWebhook:
    """A webhook.

    Attributes:
        name: Its name, which messages show.
        configuration: The name of its configuration.
        uid: Identifies it among all webhooks.
        matcher: Decides which requests it gets.
        conditions: Its match conditions; None without any.
        client: Where it is.
        ignores_failures: Whether a failed call lets the request pass.
        timeout: Seconds for a call.
        allows_dry_run: Whether it may be called in a dry run.
        review_versions: The versions of AdmissionReview that it accepts, the preferred one first.
        is_reinvoked: Whether it wants to see later changes of an object.
    """

    name: str
    configuration: str
    uid: str
    matcher: RequestMatcher
    conditions: MatchConditions | None
    client: Webhook
    ignores_failures: bool
    timeout: int
    allows_dry_run: bool
    review_versions: tuple[str, ...]
    is_reinvoked: bool


def read_webhooks(cluster: ClusterState, configuration: Plain) -> tuple[AdmissionWebhook, ...]:
    """Return the webhooks of a configuration, in their order."""
    owner = text(part(configuration, "metadata"), "name")
    counts: dict[str, int] = {}
    found: list[AdmissionWebhook] = []
    for hook in items(configuration, "webhooks"):
        name = text(hook, "name")
        # Stored configurations may have two webhooks of one name.
        number = counts[name] = counts.get(name, -1) + 1
        found.append(
            AdmissionWebhook(
                name=name,
                configuration=owner,
                uid=f"{owner}/{name}/{number}",
                matcher=RequestMatcher(cluster, hook, rules="rules", matches_without_rules=False),
                conditions=_compile_conditions(hook),
                client=webhook_of(part(hook, "clientConfig"), cluster.services.resolve, cluster.virtual_time),
                ignores_failures=text(hook, "failurePolicy") == "Ignore",
                timeout=int(hook.get("timeoutSeconds") or _TIMEOUT),
                allows_dry_run=text(hook, "sideEffects") in _WITHOUT_EFFECT,
                review_versions=tuple(words(hook, "admissionReviewVersions")),
                is_reinvoked=text(hook, "reinvocationPolicy") == "IfNeeded",
            )
        )
    return tuple(found)


def _compile_conditions(hook: Plain) -> MatchConditions | None:
    if not hook.get("matchConditions"):
        return None
    # The import loads the language of the expressions, which few webhooks need.
    from masthead_server.admission.conditions import MatchConditions

    return MatchConditions(hook)

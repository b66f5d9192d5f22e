"""The rules of ``masthead manifests`` are enough for the Website operator, and none of them is too much.

The server enforces RBAC, and the permission to block the deletion of an owner. It has no watch-lists, so that informers
need both ``list`` and ``watch``.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from examples.website import website
from tests.real.website_life import ForbiddenCalls, Life
from tests.real_server import ASSETS, RestartableServer, missing_programs

import masthead
import masthead.aio
from masthead._cli.main import main
from masthead._controller.rbac_rules import Grant, grants_of, rules_of
from masthead.api.authorization.v1 import SubjectAccessReview
from masthead.api.rbac.v1 import ClusterRole, Role

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.real_server import RealServer

pytestmark = pytest.mark.real

NAME = "website-operator"
OPTIONS = {
    "enable-admission-plugins": "OwnerReferencesPermissionEnforcement",
    "feature-gates": "WatchList=false",
}
GRANTS = sorted(grants_of(website.app, website.app.options.overridden(webhook_bind="0"), NAME))
"""Without those of webhooks: this server cannot reach a Service."""
READS_OF_ONE = {each for each in GRANTS if each.verb == "get" and each.resource != "leases"}
"""Who may list objects may see them all; `get` comes with it for code that reads one from the server."""
NEVER_DELETED = Grant("", "apps", "deployments", "delete")
"""A controller may delete what it owns. This one leaves Deployments to the garbage collector."""
MUTANTS = [each for each in GRANTS if each not in READS_OF_ONE]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with RestartableServer(tmp_path_factory.mktemp("permissions"), OPTIONS) as running:
        yield running.server


@pytest.fixture
async def admin(server: RealServer) -> AsyncIterator[masthead.aio.Client]:
    config = masthead.Config(server=server.url, token=server.token, ca_file=server.ca_file)
    async with masthead.aio.Client(config) as client:
        yield client


class Operator:
    """The Website operator with its service account, whose rules can be changed."""

    def __init__(self, server: RealServer, admin: masthead.aio.Client) -> None:
        self._server = server
        self._admin = admin

    async def install(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Apply what ``masthead manifests`` prints."""
        capsys.readouterr()
        assert main(["manifests", "examples.website.website:app"]) == 0
        objects = list(yaml.safe_load_all(capsys.readouterr().out))
        for obj in objects:
            obj.get("spec", {}).pop("conversion", None)
        without_webhooks = [obj for obj in objects if obj["kind"] != "ValidatingWebhookConfiguration"]
        await self._admin.apply_manifests(without_webhooks, field_manager="test", force=True)

    async def config(self) -> masthead.Config:
        """The configuration that a pod of the operator has."""
        issued = await self._admin.core_v1.service_accounts(NAME).create_token(NAME)
        token = issued.status.token
        return masthead.Config(server=self._server.url, token=token, ca_file=self._server.ca_file, namespace=NAME)

    async def grant(self, grants: set[Grant], probe: Grant) -> None:
        """Change the rules, and wait until the server knows a grant that has come or gone."""
        rules = rules_of(grants)
        for cls, namespace in ((ClusterRole, ""), (Role, NAME)):
            found = [each.to_dict() for each in rules.get(namespace, ())]
            resource: Any = self._admin.resource(cls, namespace or None)
            await resource.patch(NAME, masthead.Patch.merge({"rules": found}))
        async with asyncio.timeout(20):
            while await self._is_allowed(probe) != (probe in grants):  # noqa: ASYNC110 - no event says when
                await asyncio.sleep(0.02)

    async def _is_allowed(self, grant: Grant) -> bool:
        resource, _, subresource = grant.resource.partition("/")
        attributes = {
            "namespace": grant.namespace or "default",
            "group": grant.group,
            "resource": resource,
            "subresource": subresource,
            "verb": grant.verb,
            "name": grant.name or "shop",
        }
        account = f"system:serviceaccount:{NAME}:{NAME}"
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAME}", "system:authenticated"]
        spec = {"user": account, "groups": groups, "resourceAttributes": attributes}
        review = SubjectAccessReview.new("", spec=spec)
        made = await self._admin.authorization_v1.subject_access_reviews().create(review)
        return made.status.allowed

    async def live(self, name: str) -> tuple[bool, ForbiddenCalls]:
        """Run the operator while a site lives; return whether all went well, and what was forbidden."""
        forbidden = ForbiddenCalls()
        life = Life(self._admin, forbidden)
        is_well = False
        async with masthead.aio.Client(await self.config(), user_agent=NAME, metrics=forbidden) as client:
            try:
                options: Any = {
                    "probe_bind": "0",
                    "metrics_bind": "0",
                    "webhook_bind": "0",
                    "retry_period": 0.2,
                    "graceful_timeout": 5,
                }
                async with website.app.running(client, **options):
                    is_well = await life.run(name)
            finally:
                await life.clean_up(name)
                with suppress(masthead.NotFoundError):
                    await self._admin.coordination_v1.leases(NAME).delete(NAME)
        return is_well and not forbidden.seen, forbidden


@pytest.fixture
async def operator(server: RealServer, admin: masthead.aio.Client, capsys: pytest.CaptureFixture[str]) -> Operator:
    made = Operator(server, admin)
    await made.install(capsys)
    return made


async def test_nothing_is_forbidden_in_the_life_of_a_site(operator: Operator) -> None:
    is_well, forbidden = await operator.live("shop")

    assert not forbidden.seen
    assert is_well


async def test_every_rule_is_needed(operator: Operator) -> None:
    unneeded = []
    for number, missing in enumerate(MUTANTS):
        await operator.grant({*GRANTS} - {missing}, missing)
        _, forbidden = await operator.live(f"shop-{number}")
        if not forbidden.seen:
            unneeded.append(missing)
        await operator.grant({*GRANTS}, missing)

    assert unneeded == [NEVER_DELETED]

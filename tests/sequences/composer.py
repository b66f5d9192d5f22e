"""Composes random sequences while playing them on the real server: each request may depend on what is stored."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.sequences.bodies import merged, named, without_empty_metadata
from tests.sequences.custom_kinds import retyped
from tests.sequences.managed_fields import aged, tampered
from tests.sequences.patches import json_patch, merge_patch, with_directives
from tests.sequences.player import DEFINITIONS
from tests.sequences.sequence import (
    APPLY,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Observation,
    Sequence,
    Step,
)
from tests.sequences.shapes import Plain, spoil

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.sequences.custom_kinds import CustomKind
    from tests.sequences.kinds import Kind
    from tests.sequences.player import Player

MANAGERS = ("alice", "bob", "carol", "kubectl")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_LENGTHS = (3, 5, 7, 9, 12)


class Composer:
    """Composes one sequence.

    Args:
        random: What it is made from.
        player: The real server.
        versions: The versions of the kind that it writes; the first is used most.
        own: The definition that the sequence creates and changes, if it has one of its own.
    """

    def __init__(self, random: Random, player: Player, versions: list[Kind], own: CustomKind | None = None) -> None:
        self._random = random
        self._player = player
        self._versions = versions
        self._own = own
        self._marker = 1
        self._made = Sequence()
        self._live: Plain = {}
        self._applied: dict[tuple[str, str, str], Plain] = {}

    @property
    def changes_definitions(self) -> bool:
        """Whether the sequence creates and changes a definition, which takes time."""
        return self._own is not None

    def compose(self) -> Sequence:
        """Play a new sequence, and return it with the responses."""
        self._player.begin()
        if self._own is not None:
            self._send(Step("POST", DEFINITIONS, self._own.definition))
        random = self._random
        random.choice((self._create, self._create, self._apply, self._apply_all))()
        if not self._live:
            self._send_apply(self._versions[0], self._body(self._versions[0]), is_plain=True)
        actions = self._actions()
        for _ in range(random.choice(_LENGTHS)):
            random.choices([each for each, _ in actions], [weight for _, weight in actions])[0]()
        self._send(Step("GET", self._path(self._versions[0])))
        self._player.clean(self._made.steps)
        return self._made

    def _actions(self) -> list[tuple[Callable[[], object], float]]:
        actions: list[tuple[Callable[[], object], float]] = [
            (self._apply, 12),
            (self._apply_again, 3),
            (self._update, 4),
            (self._patch, 5),
            (self._age, 2),
            (self._delete, 0.7),
            (self._create, 0.5),
            (self._apply_all, 1),
            (self._apply_client_side, 1),
        ]
        if self._versions[0].status is not None:
            actions += [(self._write_status, 5)]
        if self._versions[0].has_scale:
            actions += [(self._write_scale, 2)]
        if self._own is not None:
            actions += [(self._change_definition, 4)]
        else:
            actions += [(self._update_managed_fields, 2), (self._crowd, 0.3)]
        return actions

    # What is sent.

    def _create(self) -> None:
        kind = self._kind()
        body = merged(self._body(kind), kind.shape.make(self._random))
        self._send(Step("POST", f"{kind.path}{self._query()}", body, agent=self._agent()), keep=True)

    def _apply_all(self) -> None:
        """Apply a configuration that has all that an object needs."""
        kind = self._kind()
        self._send_apply(kind, merged(self._body(kind), kind.shape.make(self._random)))

    def _apply(self) -> None:
        """Apply what the manager applied before, with changes, or something new."""
        kind, manager = self._kind(), self._random.choice(MANAGERS)
        before = self._applied.get((manager, kind.api_version, ""))
        if before is None or self._random.random() < 0.2:
            config = {**deepcopy(kind.head), **kind.shape.make(self._random)}
            config["metadata"] = {**config["metadata"], "name": "{name}"}
        else:
            config = self._changed(kind, before)
        self._send_apply(kind, config, manager=manager)

    def _apply_again(self) -> None:
        """Apply exactly what was applied before: nothing changes."""
        if self._applied and self._live:
            manager, version, subresource = self._random.choice(list(self._applied))
            kind = next(each for each in self._versions if each.api_version == version)
            config = self._applied[manager, version, subresource]
            self._send_apply(kind, config, manager=manager, subresource=subresource, is_plain=True)

    def _send_apply(
        self,
        kind: Kind,
        config: Plain,
        *,
        manager: str | None = None,
        subresource: str = "",
        is_plain: bool = False,
    ) -> None:
        manager = manager or self._random.choice(MANAGERS)
        if not is_plain and self._random.random() < 0.06:
            config = named(spoil(self._random, config), kind)
        if not is_plain and self._random.random() < 0.01:
            config = {
                **config,
                self._random.choice(("kind", "apiVersion")): self._random.choice(("", "Other", None, 7)),
            }
        if not kind.has_strategic_patch:
            config = without_empty_metadata(config)
        query = self._query(fieldManager=manager, apply=True)
        path = f"{self._path(kind, subresource)}{query}"
        found = self._send(Step("PATCH", path, config, APPLY), keep=not subresource or subresource == "/status")
        if found.status < 300 and "dryRun" not in query:
            self._applied[manager, kind.api_version, subresource] = config

    def _update(self) -> None:
        """Send the object with changes, as a client that has read it does."""
        kind = self._kind()
        body = self._read(kind)
        if body is None:
            return
        self._put(kind, self._changed(kind, body))

    def _put(self, kind: Kind, body: Plain, subresource: str = "") -> None:
        body = deepcopy(body)
        if self._random.random() < (0.5 if kind.has_strategic_patch else 0.02):
            body["metadata"].pop("resourceVersion", None)  # which custom resources must have
        elif self._random.random() < 0.05:
            body["metadata"]["resourceVersion"] = "{stale}"
        if self._random.random() < 0.3 or self.changes_definitions:
            body["metadata"].pop("managedFields", None)
        # Of a scale of a custom resource that it cannot decode, the real server does not say what is wrong.
        if self._random.random() < 0.05 and subresource != "/scale":
            body = named(spoil(self._random, body), kind)
        path = f"{self._path(kind, subresource)}{self._query()}"
        self._send(Step("PUT", path, body, agent=self._agent()), keep=subresource != "/scale")

    def _patch(self) -> None:
        kind = self._kind()
        live = self._read(kind)
        if live is None:
            return
        changed = self._changed(kind, live)
        if self._random.random() < 0.05:
            changed = named(spoil(self._random, changed), kind)
        self._send_patch(kind, live, changed)

    def _send_patch(self, kind: Kind, live: Plain, changed: Plain, subresource: str = "") -> None:
        path = f"{self._path(kind, subresource)}{self._query()}"
        body: Any
        match self._random.choice(("json", "merge", "strategic")):
            case "json":
                body, content_type = json_patch(live, changed), JSON_PATCH
            case "strategic" if kind.has_strategic_patch and not subresource:
                body, content_type = (
                    with_directives(self._random, kind.shape.make(self._random)),
                    STRATEGIC_PATCH,
                )
            case "strategic" if kind.has_strategic_patch:
                body, content_type = merge_patch(live, changed), STRATEGIC_PATCH
            case _:
                body, content_type = merge_patch(live, changed), MERGE_PATCH
        self._send(Step("PATCH", path, body, content_type, self._agent()), keep=subresource != "/scale")

    def _write_status(self) -> None:
        kind = self._kind()
        assert kind.status is not None
        live = self._read(kind)
        if live is None:
            return
        match self._random.choice(("apply", "apply", "put", "patch")):
            case "apply":
                manager = self._random.choice(MANAGERS)
                before = self._applied.get((manager, kind.api_version, "/status"), {"status": {}})
                status = kind.status.change(self._random, before.get("status"))
                config: Plain = {**deepcopy(kind.head), "status": status}
                if self._random.random() < 0.15:
                    config |= {"spec": {}, "metadata": {"name": "{name}", "labels": {"app": "a"}}}
                self._send_apply(kind, config, manager=manager, subresource="/status")
            case "put":
                changed = {**live, "status": kind.status.change(self._random, live.get("status"))}
                if self._random.random() < 0.2:
                    changed = self._changed(kind, changed)
                self._put(kind, changed, "/status")
            case _:
                changed = {**live, "status": kind.status.change(self._random, live.get("status"))}
                self._send_patch(kind, live, changed, "/status")

    def _write_scale(self) -> None:
        kind = self._kind()
        scale = self._send(Step("GET", self._path(kind, "/scale"))).body
        if scale.get("kind") != "Scale":
            return
        changed = {**scale, "spec": {"replicas": self._random.choice((0, 1, 2, 3))}}
        match self._random.choice(("apply", "put", "patch")):
            case "apply":
                config = {**changed, "metadata": {"name": "{name}"}}
                config.pop("status", None)
                self._send_apply(kind, config, subresource="/scale")
            case "put":
                self._put(kind, changed, "/scale")
            case _:
                self._send_patch(kind, scale, changed, "/scale")

    def _update_managed_fields(self) -> None:
        kind = self._kind()
        live = self._read(kind)
        if live is None:
            return
        entries = tampered(self._random, live["metadata"].get("managedFields") or [], kind.api_version)
        changed = {**live, "metadata": {**live["metadata"], "managedFields": entries}}
        if self._random.random() < 0.2:
            changed = self._changed(kind, changed)
        path, agent = f"{self._path(kind)}{self._query()}", self._agent()
        match self._random.choice(("put", "merge", "json")):
            case "put":
                self._send(Step("PUT", path, changed, agent=agent), keep=True)
            case "merge":
                self._send(Step("PATCH", path, merge_patch(live, changed), MERGE_PATCH, agent), keep=True)
            case _:
                body = [{"op": "add", "path": "/metadata/managedFields", "value": entries}]
                self._send(Step("PATCH", path, body, JSON_PATCH, agent), keep=True)

    def _age(self) -> None:
        """Set the times of all entries back, so that it shows which ones later writes renew.

        A label changes, too: servers ignore a write that changes nothing but times.
        """
        kind = self._kind()
        live = self._read(kind)
        if live is None:
            return
        entries = aged(self._random, live["metadata"].get("managedFields") or [])
        patch = {"metadata": {"managedFields": entries, "labels": {"aged": f"{len(self._made.steps)}"}}}
        self._send(Step("PATCH", f"{self._path(kind)}?fieldManager=ager", patch, MERGE_PATCH), keep=True)

    def _crowd(self) -> None:
        """More managers update than the server keeps apart."""
        kind = self._kind()
        for number in range(self._random.choice((9, 11, 13))):
            patch = {"metadata": {"annotations": {f"update-{number}": "x", "note": f"{number}"}}}
            step = Step("PATCH", f"{self._path(kind)}?fieldManager=crowd-{number:02}", patch, MERGE_PATCH)
            self._send(step, keep=True)
        if self._random.random() < 0.5:
            self._age()

    def _apply_client_side(self) -> None:
        """Write as `kubectl apply` without `--server-side` does."""
        kind = self._kind()
        live = self._read(kind)
        if live is None:
            return
        config = merged(self._body(kind), kind.shape.make(self._random))
        written = json.dumps(config, separators=(",", ":"))
        text = self._random.choice((written, written, "{}", "no JSON", "[]"))
        patch = deepcopy(config)
        patch["metadata"].setdefault("annotations", {})[LAST_APPLIED] = text
        path = f"{self._path(kind)}?fieldManager=kubectl-client-side-apply"
        self._send(Step("PATCH", path, patch, MERGE_PATCH), keep=True)

    def _delete(self) -> None:
        kind = self._kind()
        self._send(Step("DELETE", f"{self._path(kind)}{self._random.choice(('', '', '?dryRun=All'))}"))
        # So that nothing writes the status of a service that is gone, which on the real server creates half a service.
        self._live = {}
        self._random.choice((self._create, self._apply_all, self._apply))()

    def _change_definition(self) -> None:
        """Make parts of the schema atomic that were granular, and the other way round."""
        assert self._own is not None
        self._marker += 1
        definition = deepcopy(self._own.definition)
        for version in definition["spec"]["versions"]:
            properties = version["schema"]["openAPIV3Schema"]["properties"]
            properties["marker"]["default"] = self._marker
            properties["spec"] = retyped(self._random, properties["spec"])
        patch = [{"op": "replace", "path": "/spec/versions", "value": definition["spec"]["versions"]}]
        self._send(Step("PATCH", f"{DEFINITIONS}/{definition['metadata']['name']}", patch, JSON_PATCH))

    # How it is sent.

    def _send(self, step: Step, *, keep: bool = False) -> Observation:
        found = self._player.play(step)
        self._made.steps.append(step)
        self._made.observations.append(found)
        if keep and found.status < 300 and "dryRun" not in step.path:
            self._live = found.body
        return found

    def _read(self, kind: Kind) -> Plain | None:
        """The object at a version; None if there is none."""
        if self._live.get("apiVersion") == kind.api_version and self._random.random() < 0.8:
            return self._live
        found = self._send(Step("GET", self._path(kind)), keep=True)
        return found.body if found.status == 200 else None

    def _changed(self, kind: Kind, body: Plain) -> Plain:
        for _ in range(self._random.choice((0, 1, 1, 1, 2, 3))):
            body = named(kind.shape.change(self._random, body), kind)
        return body

    def _kind(self) -> Kind:
        return self._versions[0] if self._random.random() < 0.6 else self._random.choice(self._versions)

    def _body(self, kind: Kind) -> Plain:
        return merged(kind.head, kind.minimum)

    def _path(self, kind: Kind, subresource: str = "") -> str:
        return f"{kind.path}/{{name}}{subresource}"

    def _agent(self) -> str:
        return self._random.choice(("alice/1.0", "kubectl/v1.36 (linux)", "odd agent", "bob"))

    def _query(self, *, fieldManager: str = "", apply: bool = False) -> str:  # noqa: N803 - as the API spells it
        random = self._random
        options: dict[str, str] = {"fieldManager": fieldManager} if fieldManager else {}
        if not fieldManager and random.random() < 0.6:
            options["fieldManager"] = random.choice(MANAGERS)
        if apply and random.random() < 0.45:
            options["force"] = random.choice(("true", "true", "true", "false"))
        if random.random() < 0.05:
            options["dryRun"] = "All"
        if random.random() < 0.15:
            options["fieldValidation"] = random.choice(("Strict", "Warn", "Ignore", "Ignore"))
        if random.random() < 0.01:
            options["fieldManager"] = random.choice(("", "m" * 128, "m" * 129, "a\tb", "ü ö"))
        if random.random() < 0.01:
            options["force"] = "true"
        return f"?{urlencode(options)}" if options else ""

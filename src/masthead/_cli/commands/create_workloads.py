"""``masthead create deployment``, ``job`` and ``cronjob``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from masthead._cli.creating import creation_options, make_metadata, print_generated, refuse, split_list
from masthead._cli.framework import cluster_command
from masthead._cli.generator_groups import WordsCommand, container_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["cronjob", "deployment", "job", "make_deployment"]

_SUFFIX_LENGTH: Final = 5
_SUFFIX_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of generated names: they form no words."""
_IMAGE: Final = click.option("--image", default="", metavar="IMAGE", help="the image of the container")


@cluster_command("deployment", cls=WordsCommand)
@click.argument("name")
@click.option(
    "--image",
    "images",
    multiple=True,
    required=True,
    callback=split_list,
    metavar="IMAGE",
    help="the image of a container (can be repeated)",
)
@click.option("--port", type=int, default=-1, metavar="PORT", help="the port of the first one")
@click.option(
    "-r",
    "--replicas",
    type=int,
    default=1,
    show_default=True,
    metavar="COUNT",
    help="the number of pods",
)
@creation_options
@click.pass_obj
def deployment(
    state: State,
    /,
    name: str,
    images: tuple[str, ...],
    port: int,
    replicas: int,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a Deployment.

    \b
    masthead create deployment web --image=nginx --replicas=3 --port=80
    masthead create deployment clock --image=busybox -- sh -c 'while date; do sleep 1; done'
    """
    words = container_words()
    if len(images) > 1 and words:
        raise refuse("a command needs a single --image")
    obj = make_deployment(name, state.namespace, images, words, port=port, replicas=replicas)
    return print_generated(state, obj, options)


def make_deployment(
    name: str, namespace: str | None, images: Sequence[str], words: Sequence[str], *, port: int = -1, replicas: int = 1
) -> Plain:
    """The Deployment of some images, with the label ``app``.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of the context.
        images: The images of the containers.
        words: The command of the containers; empty for that of the image.
        port: The port of the first container; below zero for none.
        replicas: The number of pods.
    """
    labels = {"app": name}
    containers = [_make_container(_container_name(image), image, words) for image in images]
    if port >= 0:
        first = containers[0]
        containers[0] = {
            **{field: value for field, value in first.items() if field != "resources"},
            "ports": [{"containerPort": port}],
            "resources": {},
        }
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": make_metadata(name, namespace, labels),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            "strategy": {},
        },
        "status": {},
    }


def _make_container(name: str, image: str, words: Sequence[str]) -> Plain:
    command = {"command": list(words)} if words else {}
    return {"name": name, "image": image, **command, "resources": {}}


def _container_name(image: str) -> str:
    """The last part of an image's path, without tag and digest."""
    name = image.rpartition("/")[2].partition(":")[0].partition("@")[0]
    # The names of containers have neither.
    if "_" not in name and "." not in name:
        return name
    import random

    suffix = "".join(random.choices(_SUFFIX_CHARACTERS, k=_SUFFIX_LENGTH))
    return f"{name.replace('_', '-').replace('.', '-')}-{suffix}"


@cluster_command("job", cls=WordsCommand)
@click.argument("name")
@_IMAGE
@click.option("--from", "source", default="", metavar="cronjob/NAME", help="the CronJob whose job it is")
@creation_options
@click.pass_obj
def job(state: State, /, name: str, image: str, source: str, **options: Unpack[CreationArguments]) -> int:
    """Create a Job, or start that of a CronJob now.

    \b
    masthead create job once --image=busybox -- date
    masthead create job backup-now --from=cronjob/backup
    """
    words = container_words()
    if bool(image) == bool(source):
        raise refuse("name --image or --from")
    if source and words:
        raise refuse("--from excludes a command")
    if source:
        obj = _make_job_of(name, state.namespace, _read_cron_job(state, source))
    else:
        obj = {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": make_metadata(name, state.namespace),
            "spec": {"template": _make_template(_make_container(name, image, words), "Never")},
            "status": {},
        }
    return print_generated(state, obj, options)


def _make_template(container: Plain, restart: str) -> Plain:
    return {"metadata": {}, "spec": {"containers": [container], "restartPolicy": restart}}


def _read_cron_job(state: State, source: str) -> Plain:
    from masthead._cli.references import missing, parse_references, resolve
    from masthead.errors import NotFoundError

    references = parse_references([source])
    if not references[0].names:
        raise refuse(f"--from: {source!r} is not cronjob/NAME")
    with state.connect() as client:
        selected = resolve(client, state, references)[0]
        if selected.resource.gvr.group_resource != "cronjobs.batch":
            raise refuse(f"--from: a job is made of a CronJob, not of a {selected.resource.kind}")
        try:
            return client.dynamic(selected.resource.gvr, namespace=selected.namespace).get(selected.names[0]).to_dict()
        except NotFoundError:
            raise missing(client, selected, selected.names[0]) from None


def _make_job_of(name: str, namespace: str | None, cron_job: Plain) -> Plain:
    template = cron_job["spec"]["jobTemplate"]
    metadata = template.get("metadata", {})
    # Tells the controller that the schedule has not started it.
    annotations = {"cronjob.kubernetes.io/instantiate": "manual", **metadata.get("annotations", {})}
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": cron_job["metadata"]["name"],
        "uid": cron_job["metadata"]["uid"],
        # Not blockOwnerDeletion, which takes the right to change the CronJob's finalizers.
        "controller": True,
    }
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {
            **make_metadata(name, namespace, metadata.get("labels"), dict(sorted(annotations.items()))),
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
        "status": {},
    }


@cluster_command("cronjob", cls=WordsCommand)
@click.argument("name")
@_IMAGE
@click.option("--schedule", required=True, metavar="SCHEDULE", help="when it runs, as cron writes it")
@click.option("--restart", default="OnFailure", show_default=True, metavar="POLICY", help="OnFailure or Never")
@creation_options
@click.pass_obj
def cronjob(
    state: State, /, name: str, image: str, schedule: str, restart: str, **options: Unpack[CreationArguments]
) -> int:
    """Create a CronJob.

    \b
    masthead create cronjob backup --image=busybox --schedule='0 3 * * *' -- /backup.sh
    """
    if not image:
        raise refuse("name --image")
    container = _make_container(name, image, container_words())
    obj: Plain = {
        "kind": "CronJob",
        "apiVersion": "batch/v1",
        "metadata": make_metadata(name, state.namespace),
        "spec": {
            "schedule": schedule,
            "jobTemplate": {
                "metadata": {"name": name},
                "spec": {"template": _make_template(container, restart or "OnFailure")},
            },
        },
        "status": {},
    }
    return print_generated(state, obj, options)

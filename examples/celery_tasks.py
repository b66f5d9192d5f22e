"""Celery tasks that change the cluster: ``celery --app celery_tasks worker --pool prefork``, or ``--pool threads``."""

# mypy: disable-error-code="import-untyped, untyped-decorator"
# pyright: basic

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import worker_init, worker_process_init, worker_process_shutdown, worker_shutdown
from kombu.utils.json import register_type

import masthead
from masthead.meta.registry import registry

# Messages are files, so that the example needs no broker. Programs use Redis or RabbitMQ.
folder = Path(os.environ.get("TASKS_FOLDER", "celery-tasks")).resolve()
folder.mkdir(exist_ok=True)
app = Celery("celery_tasks", broker="filesystem://", backend=folder.as_uri())
app.conf.broker_transport_options = {
    "data_folder_in": str(folder),
    "data_folder_out": str(folder),
    "control_folder": str(folder / "control"),
    "polling_interval": 0.1,
}

client: masthead.Client | None = None


@worker_init.connect
@worker_process_init.connect
def connect(**_: object) -> None:
    """Make the client of this process: of the worker with its threads, and of each child of the prefork pool."""
    global client  # noqa: PLW0603 - one for each process
    client = masthead.Client()


@worker_process_shutdown.connect
@worker_shutdown.connect
def disconnect(**_: object) -> None:
    """Close the client of this process."""
    if client is not None:
        client.close()


def decode(data: dict[str, Any]) -> masthead.Object:
    """Return the object with the class of its kind."""
    kind = masthead.GroupVersionKind.of(data["apiVersion"], data["kind"])
    return registry.object_class(kind).from_dict(data)


# Arguments and results may be objects of any kind: JSON in the message, and of their class again in the task.
register_type(masthead.Object, "kubernetes", masthead.Object.to_dict, decode)


@app.task
def restart(namespace: str, name: str) -> int:
    """Restart a Deployment, and return its new generation."""
    assert client is not None
    return client.apps_v1.deployments(namespace).restart(name).metadata.generation or 0


@app.task
def annotate(target: masthead.Object, key: str, value: str) -> masthead.Object:
    """Annotate an object, and return it as it is now."""
    assert client is not None
    patch = masthead.Patch.merge({"metadata": {"annotations": {key: value}}})
    resource = client.resource(type(target), namespace=target.metadata.namespace)
    return resource.patch(target.metadata.name, patch)

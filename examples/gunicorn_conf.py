"""Settings of gunicorn for flask_app.py: each worker starts its informer after the fork."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

import masthead

if TYPE_CHECKING:
    from flask import Flask

bind = "127.0.0.1:8080"
worker_class = "gthread"  # gevent replaces threads, which the blocking client needs
workers = 1
threads = 16  # all of them read one cache


class Worker(Protocol):
    """The attribute of gunicorn's workers that the hook reads."""

    wsgi: Flask


def post_worker_init(worker: Worker) -> None:
    """Start the informer of a new worker, and wait for its first list before the worker accepts requests."""
    pods: masthead.SharedInformer[masthead.Object] = worker.wsgi.extensions["pods"]
    pods.start()
    # Without the cluster, the worker starts all the same and answers 503: gunicorn ends if a worker cannot start.
    with contextlib.suppress(masthead.DeadlineError):
        pods.wait_for_cache_sync(timeout=20)

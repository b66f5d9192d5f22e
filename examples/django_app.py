"""A Django project in one file, with a cache of the cluster: ``gunicorn --threads 16 django_app:application``."""

# mypy: disable-error-code="import-untyped"
# pyright: basic

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

import masthead

if TYPE_CHECKING:
    from masthead.api.core.v1 import Pod

settings.configure(
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.environ.get("SECRET_KEY", "only for this example"),
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
)

_starting = threading.Lock()
_pods: masthead.SharedInformer[Pod] | None = None


def start_pods() -> masthead.SharedInformer[Pod]:
    """Return the informer of this process, started by its first request: servers fork after they import this module."""
    global _pods  # noqa: PLW0603 - one for each process
    with _starting:
        if _pods is None:
            pods = masthead.SharedInformer(masthead.Client().core_v1.pods())
            pods.start()
            _pods = pods
    return _pods


def list_pods(_request: HttpRequest, namespace: str) -> JsonResponse:
    """List the pods of a namespace."""
    pods = start_pods()
    try:
        pods.wait_for_cache_sync(timeout=10)
    except masthead.DeadlineError as error:
        return JsonResponse({"error": str(error)}, status=503)
    listed = sorted(pods.lister.namespace(namespace).list(), key=lambda pod: pod.metadata.name)
    return JsonResponse({pod.metadata.name: pod.status.phase for pod in listed})


def readyz(_request: HttpRequest) -> JsonResponse:
    """For the readiness probe: whether the cache has synced. The first probe starts the informer."""
    health = start_pods().health
    return JsonResponse({"pods": health.objects, "state": health.state}, status=200 if health.is_synced else 503)


urlpatterns = [path("pods/<namespace>", list_pods), path("readyz", readyz)]
application = get_wsgi_application()

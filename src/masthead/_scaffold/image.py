"""The Dockerfile of an operator."""

from __future__ import annotations

from typing import Final

__all__ = ["DOCKERFILE"]

DOCKERFILE: Final = """\
FROM python:3.13-slim AS build
COPY . /src
# Masthead has no release yet: without its wheel in wheels/, this fails.
# The embedded server is for tests, not for the image.
RUN python -m venv /venv && \\
    /venv/bin/pip install --no-cache-dir /src/wheels/masthead_k8s-*.whl /src

FROM python:3.13-slim
COPY --from=build /venv /venv
USER 65532:65532
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
ENTRYPOINT ["masthead"]
"""
"""Builds the project of the current folder; the arguments of the container name the manager."""

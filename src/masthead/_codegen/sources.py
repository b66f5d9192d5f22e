"""Reads specs from a folder, a live server, or CRD manifests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from masthead._codegen import crds, documents, homes
from masthead._codegen.spec import Spec
from masthead._config.address import mask_token
from masthead._discovery.aggregated import ACCEPT
from masthead._meta import yaml
from masthead._rest.call import JSON
from masthead.errors import (
    ArgumentError,
    DecodeError,
    GenerateError,
    NotFoundError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from masthead._config.model import Config
    from masthead._sync.client import Client

_INDEX: Final = "/openapi/v3"
_NO_OPENAPI: Final = "the server has no OpenAPI v3 (404 NotFound); generate from manifests: --crd FILE"
_TIMEOUT: Final = 30.0


def from_folder(folder: Path) -> Spec:
    """Read every OpenAPI v3 and aggregated discovery document in a folder, and in the folders in it.

    Raises:
        GenerateError: If documents of either type are missing, or a file cannot be read or is not JSON.
    """
    spec = Spec()
    for path in sorted(folder.rglob("*.json")):
        documents.add_document(spec, _read(path), str(path))
    if not spec.schemas:
        raise GenerateError(f"{folder} has no OpenAPI v3 document, such as those of a server at /openapi/v3/apis/...")
    if not spec.resources:
        raise GenerateError(
            f"{folder} has no discovery document, so that resources are unknown: save the responses of a server "
            f"to /api and /apis with Accept: {ACCEPT.partition(',')[0]}"
        )
    return spec


def schemas_in(path: Path) -> Spec:
    """Read the schemas of the OpenAPI documents in a file or folder, of version 2 or 3; discovery is not needed.

    Raises:
        GenerateError: If there is none, or a file cannot be read or is not JSON.
    """
    spec = Spec()
    # Sorted, so that the same folder gives the same stubs everywhere.
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        documents.add_document(spec, _read(file), str(file))
    if not spec.schemas:
        raise GenerateError(f"{path} has no OpenAPI document, such as `kubectl get --raw /openapi/v2` prints")
    return spec


def from_manifests(paths: Iterable[Path]) -> Spec:
    """Read the CustomResourceDefinitions in YAML or JSON files; other objects are ignored.

    Raises:
        GenerateError: If a file cannot be read, a definition is malformed, or none is found.
    """
    spec = Spec()
    read: list[str] = []
    for path in paths:
        read.append(str(path))
        try:
            contents = yaml.load_all(_read(path))
        except DecodeError as error:
            raise GenerateError(f"{path}: {error}") from None
        for document in contents:
            for definition in crds.definitions_in(document):
                crds.add_definition(spec, definition, str(path))
    if not spec.schemas:
        raise GenerateError(
            "no CustomResourceDefinition of apiextensions.k8s.io/v1 with a served version "
            f"in {', '.join(read) or 'nothing'}"
        )
    return spec


def from_server(config: Config, *, groups: Iterable[str] = ()) -> Spec:
    """Read the documents of a live server.

    Requests go through `masthead.Client`: credentials are sent over TLS or to this machine only, and redirects are not
    followed.

    Args:
        config: Its address, and the credentials.
        groups: Read these groups, and the types that they refer to; all if empty.

    Raises:
        GenerateError: If a request fails, or a response is malformed.
        ConfigError: If the configuration cannot be used.
        AuthError: If the credentials cannot be used.
    """
    from masthead._sync.client import Client  # not needed for files

    with Client(config, attempts=2, timeout=_TIMEOUT) as client:
        server = _Server(client)
        spec = Spec()
        for path in ("/api", "/apis"):
            documents.add_discovery(spec, server.get(path, ACCEPT), server.describe(path))
        # The index is JSON, but kube-apiserver sends it as text/plain.
        index = documents.locations(server.get(_INDEX, "*/*"), server.describe(_INDEX))
        wanted = frozenset(groups) or frozenset(served.group for served in index)
        server.add_documents(spec, [path for served, path in index.items() if served.group in wanted])
        if homes.reach_beyond(spec, wanted):
            # These documents contain types of other groups, but neither their groups nor all of them.
            server.add_documents(spec, [path for served, path in index.items() if served.group not in wanted])
    if not spec.schemas:
        raise GenerateError(
            f"{mask_token(config.server)} serves no OpenAPI v3 document for {', '.join(sorted(wanted)) or 'any group'}"
        )
    return spec


class _Server:
    """Sends GET requests, and turns failures into a `GenerateError`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def add_documents(self, spec: Spec, paths: list[str]) -> None:
        # Servers build these documents on demand, of some hundred kilobytes each: fetch a few at a time.
        with ThreadPoolExecutor(max_workers=4) as pool:
            for path, data in zip(paths, pool.map(self.get, paths), strict=True):
                documents.add_openapi(spec, data, self.describe(path))

    def get(self, path: str, accept: str = JSON) -> bytes:
        if not path.startswith("/"):
            raise GenerateError(
                f'{mask_token(self._client.config.server)} has an OpenAPI document at "{path}", which is not a path'
            )
        try:
            return self._client.rest.get(path, accept=accept).body
        except (StatusError, TransportError, ArgumentError) as error:
            raise GenerateError(self._error_message(path, error)) from error

    def _error_message(self, path: str, error: Exception) -> str:
        is_without = path == _INDEX and isinstance(error, NotFoundError)
        return f"{self.describe(path)}: {_NO_OPENAPI if is_without else error}"

    def describe(self, path: str) -> str:
        return f"GET {mask_token(self._client.config.server)}{path}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GenerateError(f"{path}: {error.strerror or error}") from None

"""Where specs come from: a folder, a live server, or CRD manifests."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from masthead.codegen import crds, documents, homes
from masthead.codegen.spec import Spec
from masthead.errors import DecodeError, GenerateError
from masthead.meta import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_JSON: Final = "application/json"
_AGGREGATED: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TIMEOUT: Final = 30.0


def from_folder(folder: Path) -> Spec:
    """Read every OpenAPI v3 and aggregated discovery document in a folder, and in the folders in it.

    Raises:
        GenerateError: if documents of either sort are missing, or a file cannot be read or is not JSON.
    """
    spec = Spec()
    for path in sorted(folder.rglob("*.json")):
        documents.add_document(spec, _read(path), str(path))
    if not spec.schemas:
        raise GenerateError(
            f"{folder} holds no OpenAPI v3 document: what a server has at /openapi/v3/apis/..."
        )
    if not spec.resources:
        raise GenerateError(
            f"{folder} holds no discovery document, so that no kind would know its resource: save what a server "
            f"answers at /api and /apis when asked to Accept: {_AGGREGATED.partition(',')[0]}"
        )
    return spec


def from_manifests(paths: Iterable[Path]) -> Spec:
    """Read the CustomResourceDefinitions in YAML or JSON files; other objects are passed over.

    Raises:
        GenerateError: if a file cannot be read, a definition is malformed, or none is found.
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


def from_server(
    url: str,
    *,
    token: str = "",
    ca_file: Path | None = None,
    insecure: bool = False,
    groups: Iterable[str] = (),
) -> Spec:
    """Read the documents of a live server.

    Args:
        url: Where it is, such as ``https://127.0.0.1:6443``.
        token: A bearer token.
        ca_file: The certificate authority to trust instead of the system's.
        insecure: Trust any certificate.
        groups: Read these groups, and what they refer to; none means all.

    Raises:
        GenerateError: if it does not answer, or not with what it should.
    """
    server = _Server(url, token, _trust(ca_file, insecure=insecure))
    spec = Spec()
    for path in ("/api", "/apis"):
        documents.add_discovery(spec, server.get(path, _AGGREGATED), server.describe(path))
    index = documents.locations(server.get("/openapi/v3", _JSON), server.describe("/openapi/v3"))
    wanted = frozenset(groups) or frozenset(served.group for served in index)
    server.add_documents(spec, [path for served, path in index.items() if served.group in wanted])
    if homes.reach_beyond(spec, wanted):
        # Types of other groups are in these documents, but not which group they are of, nor all of them.
        server.add_documents(spec, [path for served, path in index.items() if served.group not in wanted])
    if not spec.schemas:
        raise GenerateError(
            f"{url} serves no OpenAPI v3 document for {', '.join(sorted(wanted)) or 'any group'}"
        )
    return spec


class _Server:
    """Sends GET requests, and says in one sentence what went wrong."""

    def __init__(self, url: str, token: str, trust: ssl.SSLContext) -> None:
        self.url = _checked(url)
        self.token = token
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=trust)]
        if urllib.parse.urlsplit(url).hostname in _LOOPBACK:  # as kubectl does, whatever HTTPS_PROXY says
            handlers.append(urllib.request.ProxyHandler({}))
        self.opener = urllib.request.build_opener(*handlers)

    def add_documents(self, spec: Spec, paths: list[str]) -> None:
        # Documents are some hundred kilobytes each and made on demand: a few at a time.
        with ThreadPoolExecutor(max_workers=4) as pool:
            for path, data in zip(paths, pool.map(self.get, paths), strict=True):
                documents.add_openapi(spec, data, self.describe(path))

    def get(self, path: str, accept: str = _JSON) -> bytes:
        if not path.startswith("/"):
            raise GenerateError(f'{self.url} has an OpenAPI document at "{path}", which is no path')
        try:
            request = urllib.request.Request(f"{self.url}{path}", headers={"Accept": accept})
            if self.token:  # not to be sent on to wherever a redirect leads
                request.add_unredirected_header("Authorization", f"Bearer {self.token}")
            with self.opener.open(request, timeout=_TIMEOUT) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            error.close()
            raise GenerateError(f"{self.describe(path)}: {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise GenerateError(f"{self.describe(path)}: {str(error) or type(error).__name__}") from None

    def describe(self, path: str) -> str:
        return f"GET {self.url}{path}"


def _checked(url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise GenerateError(f'"{url}" is no URL of a server; it looks like https://127.0.0.1:6443')
    return url.rstrip("/")


def _trust(ca_file: Path | None, *, insecure: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except OSError as error:
        raise GenerateError(f"{ca_file} is no file of certificates: {error}") from None
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GenerateError(f"{path}: {error.strerror or error}") from None

"""Credentials for ``masthead.rest``: bearer tokens, basic authentication, exec plugins, OpenID Connect and TLS.

A client creates these from its configuration. Use them directly to build a `masthead.rest.RestClient` by hand; implement
`Credentials` for another way to authenticate. A `Secret` hides a token or password from reprs, logs and tracebacks.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._auth.credentials import Certificate as Certificate
    from masthead._auth.credentials import Credentials as Credentials
    from masthead._auth.exec import ExecPlugin as ExecPlugin
    from masthead._auth.execcredential import cluster_info as cluster_info
    from masthead._auth.oidc import OidcToken as OidcToken
    from masthead._auth.tls import TlsContexts as TlsContexts
    from masthead._auth.tokens import AnonymousCredentials as AnonymousCredentials
    from masthead._auth.tokens import BasicAuth as BasicAuth
    from masthead._auth.tokens import BearerToken as BearerToken
    from masthead._auth.tokens import TokenFile as TokenFile
    from masthead._meta.secret import Secret as Secret

_HOMES = {
    "Certificate": "masthead._auth.credentials",
    "Credentials": "masthead._auth.credentials",
    "ExecPlugin": "masthead._auth.exec",
    "cluster_info": "masthead._auth.execcredential",
    "OidcToken": "masthead._auth.oidc",
    "TlsContexts": "masthead._auth.tls",
    "AnonymousCredentials": "masthead._auth.tokens",
    "BasicAuth": "masthead._auth.tokens",
    "BearerToken": "masthead._auth.tokens",
    "TokenFile": "masthead._auth.tokens",
    "Secret": "masthead._meta.secret",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

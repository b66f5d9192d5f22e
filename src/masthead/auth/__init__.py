"""Who we are: tokens, passwords, certificates, and what keeps them from going stale.

| module | what lives there |
|---|---|
| `contract` | what the rooms above know of credentials |
| `tokens` | nobody, a token, a password, a token in a file |
| `exec`, `execcredential`, `program` | a program that prints credentials; what is said to it and by it; how it is run |
| `oidc` | an OpenID Connect token and its refresh token |
| `tls`, `pem` | what to trust and what to show in TLS, reloaded when files change |
| `files`, `renewal`, `hiding` | what the others share: watched files, one renewal at a time, no secret in a message |

The names below can be imported from here; each is imported when it is first used.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.auth.contract import Certificate as Certificate
    from masthead.auth.contract import Credentials as Credentials
    from masthead.auth.exec import ExecPlugin as ExecPlugin
    from masthead.auth.execcredential import cluster_info as cluster_info
    from masthead.auth.oidc import OidcToken as OidcToken
    from masthead.auth.tls import TlsContexts as TlsContexts
    from masthead.auth.tokens import Anonymous as Anonymous
    from masthead.auth.tokens import BasicAuth as BasicAuth
    from masthead.auth.tokens import BearerToken as BearerToken
    from masthead.auth.tokens import TokenFile as TokenFile

_HOMES = {
    "Certificate": "masthead.auth.contract",
    "Credentials": "masthead.auth.contract",
    "ExecPlugin": "masthead.auth.exec",
    "cluster_info": "masthead.auth.execcredential",
    "OidcToken": "masthead.auth.oidc",
    "TlsContexts": "masthead.auth.tls",
    "Anonymous": "masthead.auth.tokens",
    "BasicAuth": "masthead.auth.tokens",
    "BearerToken": "masthead.auth.tokens",
    "TokenFile": "masthead.auth.tokens",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

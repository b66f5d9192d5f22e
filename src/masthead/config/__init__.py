"""Where the cluster is, and who we are there.

| module | what lives there |
|---|---|
| `model`, `checks`, `converted` | `Config` and its parts; what may be wrong with them |
| `loading`, `overrides`, `selection` | `load`, `from_kubeconfig` and `list_contexts`: what is looked for, and what of it counts |
| `files`, `kubeconfig`, `node` | kubeconfig files, found, read and merged |
| `incluster` | what a pod knows |
| `proxies`, `address` | proxies in the environment; addresses and their parts |
| `writeback` | renewed tokens, back to their file |

The names below can be imported from here; each is imported when it is first used.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.config.incluster import in_cluster as in_cluster
    from masthead.config.loading import KubeContext as KubeContext
    from masthead.config.loading import from_kubeconfig as from_kubeconfig
    from masthead.config.loading import list_contexts as list_contexts
    from masthead.config.loading import load as load
    from masthead.config.model import Config as Config
    from masthead.config.model import ExecConfig as ExecConfig
    from masthead.config.model import Impersonation as Impersonation
    from masthead.config.model import OidcConfig as OidcConfig
    from masthead.config.overrides import Overrides as Overrides
    from masthead.config.proxies import proxy_for as proxy_for
    from masthead.config.writeback import write_user_tokens as write_user_tokens

_HOMES = {
    "in_cluster": "masthead.config.incluster",
    "KubeContext": "masthead.config.loading",
    "from_kubeconfig": "masthead.config.loading",
    "list_contexts": "masthead.config.loading",
    "load": "masthead.config.loading",
    "Config": "masthead.config.model",
    "ExecConfig": "masthead.config.model",
    "Impersonation": "masthead.config.model",
    "OidcConfig": "masthead.config.model",
    "Overrides": "masthead.config.overrides",
    "proxy_for": "masthead.config.proxies",
    "write_user_tokens": "masthead.config.writeback",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

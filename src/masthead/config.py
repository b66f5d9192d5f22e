"""Client configuration: kubeconfig files, in-cluster configuration and overrides.

`load` finds the configuration as kubectl does. `from_kubeconfig` takes a kubeconfig in memory, `in_cluster` that of a pod,
and `Config` every setting by hand. `list_contexts` lists the contexts of a kubeconfig.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._config.incluster import in_cluster as in_cluster
    from masthead._config.loader import KubeContext as KubeContext
    from masthead._config.loader import from_kubeconfig as from_kubeconfig
    from masthead._config.loader import list_contexts as list_contexts
    from masthead._config.loader import load as load
    from masthead._config.model import Config as Config
    from masthead._config.model import ExecConfig as ExecConfig
    from masthead._config.model import Impersonation as Impersonation
    from masthead._config.model import OidcConfig as OidcConfig
    from masthead._config.overrides import Overrides as Overrides
    from masthead._config.proxies import proxy_for as proxy_for
    from masthead._config.writeback import write_user_tokens as write_user_tokens

_HOMES = {
    "in_cluster": "masthead._config.incluster",
    "KubeContext": "masthead._config.loader",
    "from_kubeconfig": "masthead._config.loader",
    "list_contexts": "masthead._config.loader",
    "load": "masthead._config.loader",
    "Config": "masthead._config.model",
    "ExecConfig": "masthead._config.model",
    "Impersonation": "masthead._config.model",
    "OidcConfig": "masthead._config.model",
    "Overrides": "masthead._config.overrides",
    "proxy_for": "masthead._config.proxies",
    "write_user_tokens": "masthead._config.writeback",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

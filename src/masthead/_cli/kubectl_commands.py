"""Commands of kubectl that do not exist here, and what does their work."""

from __future__ import annotations

from typing import Final

__all__ = ["ALTERNATIVES"]

ALTERNATIVES: Final = {
    "autoscale": "write a HorizontalPodAutoscaler (masthead explain hpa.spec), then masthead create -f FILE",
    "certificate": (
        "masthead patch csr/NAME --subresource=approval --type=merge "
        """-p '{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Me"}]}}'; or "Denied\""""
    ),
    "cluster-info": "masthead config view --minify shows the address, masthead doctor checks the connection",
    "cordon": """masthead patch node/NAME -p '{"spec":{"unschedulable":true}}'""",
    "drain": (
        """masthead patch node/NAME -p '{"spec":{"unschedulable":true}}', then """
        "masthead get pods -A --field-selector=spec.nodeName=NAME -o yaml | masthead delete -f -; "
        "this deletes the pods of DaemonSets, too, and ignores disruption budgets"
    ),
    "expose": "masthead create service clusterip NAME --tcp=80:8080; its selector is app=NAME",
    "kustomize": "kustomize build FOLDER | masthead apply -f -; or kubectl kustomize FOLDER",
    "options": "masthead --help lists the options of all commands; masthead COMMAND --help those of one",
    "proxy": "masthead get --raw PATH prints what the server returns; masthead port-forward reaches pods and services",
    "replace": "masthead apply -f FILE; to create objects again: masthead delete -f FILE, then masthead create -f FILE",
    "set": (
        "masthead patch deploy/NAME "
        """-p '{"spec":{"template":{"spec":{"containers":[{"name":"CONTAINER","image":"IMAGE"}]}}}}'; """
        "or masthead edit deploy/NAME"
    ),
    "taint": (
        """masthead patch node/NAME -p '{"spec":{"taints":[{"key":"KEY","value":"VALUE","effect":"NoSchedule"}]}}'; """
        "this replaces all taints of the node, masthead edit node/NAME changes some"
    ),
    "uncordon": """masthead patch node/NAME -p '{"spec":{"unschedulable":false}}'""",
}

"""Starts a server from a dump: manifests, ``kubectl get`` output, ``kubectl cluster-info dump`` folders."""

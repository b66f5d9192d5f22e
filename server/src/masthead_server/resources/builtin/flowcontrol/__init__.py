"""The group flowcontrol.apiserver.k8s.io."""

"""The resources of Kubernetes itself, by group and kind."""

"""The reflector: lists and watches a resource, and emits its changes."""

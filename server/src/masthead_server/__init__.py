"""The embedded API server, the implementation of `masthead.server`."""

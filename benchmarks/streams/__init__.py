"""Streams between clients and pods, through an embedded server: port-forward, with the official client and kr8s beside it."""

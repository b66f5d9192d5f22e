"""Streams between clients and pods, through an embedded server, compared with the official client and kr8s."""

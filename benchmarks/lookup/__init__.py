"""Reads from an informer's store."""

"""Warnings that several kinds share, and what becomes of the warnings of a request."""

"""Validation that several kinds share: metadata, names, pod templates, volumes, addresses, statuses."""

"""Informers: a part of the cluster mirrored in memory, kept up to date, and told about."""

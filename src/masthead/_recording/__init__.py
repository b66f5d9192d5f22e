"""Recordings of clusters: the file format, its writer, its reader, and what a recording tells.

From the bottom up: ``zstd`` (the compressor), ``frames`` (compressed frames with checksums), ``entries`` (the lines in
them), ``redaction``, ``writer`` (one file, and its rotation), ``index`` (where each change is), ``differences`` and
``managers`` (what changed, and who did it), ``states`` (the cluster at one moment), ``recording`` (the reader).

Nothing here talks to a cluster: the client and the embedded server both use it.
"""

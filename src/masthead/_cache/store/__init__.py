"""The local store: objects by key and index, the formats that they are stored in, listers, and snapshots."""

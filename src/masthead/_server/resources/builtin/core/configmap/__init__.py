"""ConfigMaps."""

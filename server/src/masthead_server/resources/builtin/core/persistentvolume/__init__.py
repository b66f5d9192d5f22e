"""PersistentVolumes."""

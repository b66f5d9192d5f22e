"""CSIStorageCapacities."""

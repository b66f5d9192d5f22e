"""StorageClasses."""

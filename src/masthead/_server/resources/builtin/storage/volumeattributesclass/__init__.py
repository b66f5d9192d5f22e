"""VolumeAttributesClasses."""

"""VolumeAttachments."""

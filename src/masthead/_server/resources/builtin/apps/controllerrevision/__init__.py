"""ControllerRevisions."""

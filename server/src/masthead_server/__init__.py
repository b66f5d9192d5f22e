"""The embedded API server: what `masthead.server` offers stands here."""

"""Controllers of dynamic resource allocation (DRA): pods' claims for devices."""

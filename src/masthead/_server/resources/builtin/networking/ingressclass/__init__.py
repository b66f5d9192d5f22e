"""IngressClasses."""

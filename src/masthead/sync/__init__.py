"""The blocking façade: the same classes and methods as `masthead.aio`, and no ``await``."""

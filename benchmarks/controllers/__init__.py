"""Work queues, reconciles, and operators of 10,000 custom resources, with kopf beside them."""

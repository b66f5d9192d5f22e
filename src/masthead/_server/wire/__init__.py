"""What goes over the wire, without knowing any kind: requests, answers, refusals, patches, formats."""

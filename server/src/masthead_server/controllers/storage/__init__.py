"""The controllers of storage: claims get volumes, by a match or by a simulated provisioner."""

"""The controllers of dynamic resource allocation: claims of pods for devices."""

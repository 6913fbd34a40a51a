"""Trained agents: those that ship with the package, one folder each, and how agents are loaded and published."""

"""Analyses: pure functions from trial tables and recordings to results that survive JSON."""

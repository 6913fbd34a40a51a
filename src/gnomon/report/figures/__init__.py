"""Figures: every function takes axes and a result of an analysis, draws it, and computes nothing."""

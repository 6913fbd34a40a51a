"""Keeping a run whole: checkpoints, the way back from one to an agent, and the check of everything in a folder."""

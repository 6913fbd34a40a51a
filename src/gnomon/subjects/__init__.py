"""Whoever acts in the laboratory, an agent or a script, and the one loop in which they do: evaluations, films."""

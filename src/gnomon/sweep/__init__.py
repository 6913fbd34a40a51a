"""Lists of trainings: experiment files, and the sweep that trains what they list."""

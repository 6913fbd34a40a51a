"""A study: who takes part, which stages there are, and the files they write. `gnomon.report` reads the files."""

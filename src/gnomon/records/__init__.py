"""Trial tables and recordings: declared schemas, written and read."""

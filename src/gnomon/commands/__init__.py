"""One small file per command: a dataclass of its options, and a function that takes them."""

"""The laboratory in a browser: engine and agent in JavaScript (`web/`), and one self-contained page of them."""

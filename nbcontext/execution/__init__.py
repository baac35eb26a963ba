"""Running commands and code, and what of their output is kept (decision 27)."""

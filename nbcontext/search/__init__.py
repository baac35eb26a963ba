"""Finding files and places in them: ripgrep, glob patterns, and ranked passages (decision 26)."""

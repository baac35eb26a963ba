"""Files under the root: found, read, changed and compared, byte for byte (decisions 3 to 5, 12 to 16)."""

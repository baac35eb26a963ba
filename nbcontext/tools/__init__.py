"""The tools of a session, one a module: its arguments, what it does, and the record that offers it."""

"""The model's rim: a request goes out through litellm, a reply comes back in pieces."""

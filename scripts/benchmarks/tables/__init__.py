"""How figures are compared and shown."""

"""Keys and drivers: what is played, baked, split, moved and renumbered."""

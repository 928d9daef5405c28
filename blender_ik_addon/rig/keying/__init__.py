"""Keys and drivers: played, baked, split, moved and renumbered."""

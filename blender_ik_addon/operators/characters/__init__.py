"""The operators for whole characters: chains for all limbs at once, and for the other side."""

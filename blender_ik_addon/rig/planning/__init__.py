"""Parts of a chain: its bones, their joints, its place in the order of solves."""

"""What each chain is made of: its bones, their joints, its order."""

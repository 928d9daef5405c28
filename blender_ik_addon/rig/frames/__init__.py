"""Bones under any parents, as arrays of chains and trees alike."""

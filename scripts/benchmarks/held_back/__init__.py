"""Chains that limits keep from their targets: how near they come, how soon, in how many calls."""

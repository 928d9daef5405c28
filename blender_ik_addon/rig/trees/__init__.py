"""Chains that are solved together: those that share bones, and those of a body."""

"""Chains alike that are compared and solved side by side."""

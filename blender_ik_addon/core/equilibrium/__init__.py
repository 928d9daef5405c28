"""Poses in which springs, weight and limits balance, and how joints ease to them."""

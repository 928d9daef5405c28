"""Displays, spaces and default places of controls."""

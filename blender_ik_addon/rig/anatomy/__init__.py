"""Limbs, sides and joints of bodies, read from names and structure of bones."""

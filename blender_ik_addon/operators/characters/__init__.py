"""The operators for whole characters: chains for all limbs at once, and for the other side."""

from ...registering import in_order

register, unregister = in_order(__name__, "set_up", "mirror", "whole_body")

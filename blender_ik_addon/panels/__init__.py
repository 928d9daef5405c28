"""The panels and menus. They draw only."""

from ..registering import in_order

register, unregister = in_order(__name__, "sidebar", "bone", "menus")

"""The panels and menus. They draw only."""

from ..registration import make_registration

register, unregister = make_registration(__name__, "sidebar", "bone", "menus")

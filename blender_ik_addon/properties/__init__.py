"""The settings of chains, and their conversion to frozen records."""

from ..registering import in_order

register, unregister = in_order(
    __name__, *("joints.own", "forces", "settings", "object_settings", "compared.kept")
)

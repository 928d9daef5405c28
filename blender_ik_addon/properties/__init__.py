"""The settings of chains, and their conversion to frozen records."""

from ..registering import make_registration

register, unregister = make_registration(
    __name__, *("joints.own", "forces", "settings", "object_settings", "compared.kept")
)

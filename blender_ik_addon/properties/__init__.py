"""The settings of chains, and their conversion to frozen records."""

from ..registration import make_registration

register, unregister = make_registration(
    __name__,
    *(
        "joints.joint_definitions",
        "forces",
        "settings",
        "object_settings",
        "compared.comparison_results",
    ),
)

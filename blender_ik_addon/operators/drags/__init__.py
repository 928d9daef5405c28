"""What a person drags in the viewport: targets, poles, pole angles, the ends of limits."""

from ...registering import in_order

register, unregister = in_order(__name__, "placing", "turning", "limits")

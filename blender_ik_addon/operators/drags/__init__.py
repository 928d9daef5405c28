"""Operators that drag something in the viewport: targets, poles, pole angles, ends of limits."""

from ...registering import in_order

register, unregister = in_order(__name__, "placing", "turning", "limits")

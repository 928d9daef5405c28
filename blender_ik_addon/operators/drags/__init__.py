"""Operators that drag something in the viewport: targets, poles, pole angles, ends of limits."""

"""The operators that drag targets, poles, pole angles or ends of limits in the viewport."""

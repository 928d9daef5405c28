"""The operators that match FK and IK: snap the controls, keep the pose, switch with keys."""

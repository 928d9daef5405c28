"""The operators that match FK and IK: snap controls, keep the pose, switch with keys."""

"""Newton's method on any energy of poses: outputs held, within the ranges of joints."""

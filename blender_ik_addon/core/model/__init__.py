"""Records of the inputs and results of a solve."""

"""Numbers, vectors, quaternions and matrices: one source for one chain and for many."""

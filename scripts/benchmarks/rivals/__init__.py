"""Other solvers, each behind a process that answers the same questions."""

"""What is around the steps of solvers: loops, new starts, and the order in which they run."""

"""What goes into a solve and comes out of it: one record each."""

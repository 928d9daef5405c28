"""Parts of the example files: bodies, rigs, a human, and the stage."""

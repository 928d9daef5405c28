"""From goals to poses: what is the same for every solver."""

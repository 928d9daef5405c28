"""Where poses put bones, what joints allow, and what chains reach."""

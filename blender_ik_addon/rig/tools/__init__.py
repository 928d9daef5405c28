"""What operators do to chains, targets and keyframes."""

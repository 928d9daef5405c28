"""What operators do to chains, controls and keyframes."""

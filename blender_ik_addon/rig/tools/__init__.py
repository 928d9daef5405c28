"""Functions behind the operators on chains, controls and keyframes."""

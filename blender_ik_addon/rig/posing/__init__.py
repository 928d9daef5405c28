"""What a solve does to chains and trees: targets in, channels out."""

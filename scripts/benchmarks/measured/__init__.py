"""What is measured: each file is a process of its own."""

"""Wrong changes of the extension, and which of them tests notice."""

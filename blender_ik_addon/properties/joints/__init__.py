"""The own joints of chains; for what stands on records, their ends and those of selected bones."""

"""The joints that chains define for their bones, their limit ends, and joints of selected bones."""

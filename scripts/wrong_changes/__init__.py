"""Small wrong changes in the extension, and the tests that detect them."""

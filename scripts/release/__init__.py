"""What a release has to fulfil: checks that return sentences, and none if all is well."""

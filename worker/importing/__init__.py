"""Events from files and from a person's hand."""

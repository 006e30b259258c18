"""Events of a round in, what happened in it out."""

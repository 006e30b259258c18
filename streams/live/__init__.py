"""Live subscriptions: one consumer, which catches up alone and then follows with all others.

Events come this way: `catch_up` (with `history`) reads at the consumer's pace; near the end of the
feed the `hub` reads for all of a store, and `stay` is one subscription's part in that, with a
`drop_queue` where it drops. `subscription` hands them over, `standing` is how far it has come.
"""

"""What every subscription is made of: what is handed over, where a reader stands, where it reads.

Events come this way: `source` (with `redis_source` and `redis_logs`, or `memory_source`) announces
and fetches, `spans` and `log_walk` decide what is fetched next, `wanted` lets through what the
filter matches, `items` are what the consumer gets. `seen` and `position` say how far that is.
`lifecycle` begins and ends a subscription, `roster` counts who takes part and `reports` tells
Redis.
"""

"""Durable subscriptions: a group of members that share a tenant's streams, and forget none.

Events come this way: `reader` (with `logs`) reads for the partitions a member holds, `partition`
keeps them in line, `shelf` hands them over and commits what is acknowledged, `member` is what the
consumer iterates. `group` is the state all members share, in Redis (`redis_group`) or in memory.
Workers tend to groups (`upkeep`), people look at them (`view`).
"""

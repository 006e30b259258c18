"""One partition of a group in the hands of a member: what is on its way, and how far it is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from streams.event import Event
from streams.subscription.items import Gap, Reset, Span
from streams.subscription.log_walk import LogWalk
from streams.subscription.position import Position

from .group import Buried, Change, Tried


@dataclass(slots=True, eq=False)
class Notice:
    """A gap or a reset: done once its consumer asks for what follows it."""

    item: Gap | Reset
    partition: Partition
    position: Position
    size: int
    done: bool = False


@dataclass(slots=True, eq=False)
class Delivery:
    """An event of a durable subscription, to be acknowledged once it is dealt with.

    `attempt` says how often it has been handed over, this time included, as far as is known: it
    is counted for the first event of its partition that is not acknowledged.
    """

    event: Event
    partition: Partition = field(repr=False)
    position: Position = field(repr=False)
    size: int = field(repr=False)
    attempt: int = 1
    done: bool = False

    async def ack(self) -> bool:
        """Acknowledge; once it returns, the event is not handed over again.

        An event before it in its partition that is not acknowledged yet holds it back: then it
        is remembered here and recorded with that one. Returns False, and records nothing, when
        the partition has passed to another member, which is handed the event too. Waits while
        Redis is away, and raises `StoreUnavailable` if the subscription is closed meanwhile.
        """
        return await self.partition.acknowledge(self)


OnItsWay = Delivery | Notice
Acknowledge = Callable[[Delivery], Awaitable[bool]]


@dataclass(slots=True, eq=False)
class Partition:
    """`committed` and `recorded` are what the group's state says; `target` is where it may move.

    `read_to` is how far the reader got. `outstanding` are the items not done, oldest first, of
    which `ready` wait to be handed over and `in_hand` deliveries are in the consumer's hands.
    `intended` are attempts to record with the next commit; `counted` says that the recorded ones
    include the hand-over to come, `foreseen` that it won't come.
    """

    number: int
    committed: Position
    recorded: Tried | None
    acknowledge: Acknowledge
    read_to: Position = field(init=False)
    target: Position = field(init=False)
    outstanding: deque[OnItsWay] = field(default_factory=deque)
    ready: deque[OnItsWay] = field(default_factory=deque)
    in_hand: int = 0
    intended: Tried | None = None
    counted: bool = False
    foreseen: bool = False
    leaving: bool = False
    gone: bool = False
    walk: LogWalk | None = None
    missed: deque[Span] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.read_to = self.target = self.committed

    @property
    def careful(self) -> bool:
        """Whether its first event may have ended a member: then it is handed over alone."""
        return self.recorded is not None and self.recorded.count > 1

    @property
    def blocked(self) -> bool:
        """Whether nothing may be handed over for now."""
        return self.leaving or (self.careful and self.in_hand > 0)

    def add(self, item: OnItsWay) -> None:
        """Put an item in line."""
        self.outstanding.append(item)
        self.ready.append(item)

    def moved(self, read_to: Position) -> None:
        """Everything before `read_to` is in line or of no interest."""
        self.read_to = read_to
        if not self.outstanding:
            self.target = read_to

    def hand_over(self) -> OnItsWay:
        """The next item, now in the consumer's hands."""
        item = self.ready.popleft()
        if isinstance(item, Delivery):
            self.in_hand += 1
        self.counted = False
        return item

    def settle(self, item: OnItsWay) -> None:
        """An item is done; so is everything up to it, if it was the first in line."""
        item.done = True
        if isinstance(item, Delivery):
            self.in_hand -= 1
        while self.outstanding and self.outstanding[0].done:
            self.target = self.outstanding.popleft().position
        if not self.outstanding:
            self.target = self.read_to

    def next_attempt(self, delivery: Delivery) -> int:
        """Which attempt handing over `delivery`, first in line, is."""
        if self.recorded is not None and self.recorded.position == delivery.position:
            return self.recorded.count + (not self.counted)
        return 1

    def take_back(self) -> None:
        """Forget what was not handed over; the next holder reads it again."""
        handed = len(self.outstanding) - len(self.ready)
        self.outstanding = deque(list(self.outstanding)[:handed])
        self.ready.clear()
        self.read_to = self.outstanding[-1].position if self.outstanding else self.target
        self.intended, self.foreseen = None, self.counted

    def change(self) -> Change | None:
        """What to commit; None when the group's state says it already."""
        tried = self._tried()
        if self.target == self.committed and tried == self.recorded:
            return None
        return Change(self.target, tried)

    def burial(self, attempts: int) -> tuple[Delivery, Change]:
        """Give up the first in line, which waits to be handed over; a gap takes its place."""
        delivery = self.outstanding[0]
        assert isinstance(delivery, Delivery)  # noqa: S101 - only deliveries are counted
        change = Change(delivery.position, None, Buried(delivery.event, attempts))
        return delivery, change

    def bury(self, delivery: Delivery) -> None:
        """The burial of `delivery` is committed."""
        version = delivery.event.version
        gap = Gap(delivery.event.stream_id, version, version, 1)
        self.outstanding[0] = self.ready[0] = Notice(gap, self, delivery.position, delivery.size)

    def committed_change(self, change: Change) -> None:
        """The group's state now says `change`."""
        self.committed, self.recorded = change.position, change.tried
        self.foreseen = False
        if self.intended is not None and self.intended == change.tried:
            self.counted, self.intended = True, None

    def _tried(self) -> Tried | None:
        """The attempts to record for the first in line, if it is or will be in hand."""
        recorded = self.recorded
        if self.intended is not None:
            return self.intended
        if recorded is not None and self.foreseen:
            count = recorded.count - 1  # counted for a hand-over that did not happen
            recorded = Tried(recorded.position, count) if count else None
        if not self.outstanding:
            # What was tried before may only not have been read yet.
            ahead = recorded is not None and recorded.position.beyond(self.target)
            return recorded if ahead else None
        first = self.outstanding[0]
        if recorded is not None and recorded.position == first.position:
            return recorded
        in_hand = isinstance(first, Delivery) and not (self.ready and self.ready[0] is first)
        return Tried(first.position, 1) if in_hand else None

"""Slots of a worker: runs that wait lend theirs, and get one back in the order in which they ask."""

import asyncio

import pytest

from paca.worker.slots import MAX_RUNS_PER_SLOT, Slot, Slots

pytestmark = pytest.mark.anyio


@pytest.fixture
def slots() -> Slots:
    return Slots(1, lambda: None)


async def wait_with(slot: Slot, over: asyncio.Event) -> None:
    async with slot.lend():
        await over.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_run_that_waits_lends_its_slot_and_goes_on_when_one_is_free(slots):
    over = asyncio.Event()
    waiting = asyncio.create_task(wait_with(slots.take(), over))
    assert slots.free == 0
    await settle()
    assert slots.free == 1
    other = slots.take()
    over.set()
    await settle()
    assert (waiting.done(), slots.free) == (False, 0)
    other.end()
    await waiting
    assert slots.free == 0, "the run that waited has the slot"


async def test_runs_that_have_waited_come_in_order_and_before_new_conversations(slots):
    order, over = [], asyncio.Event()

    async def wait(name: str, slot: Slot) -> None:
        await wait_with(slot, over)
        order.append(name)
        slot.end()

    tasks = []
    for name in ("first", "second", "third"):
        tasks.append(asyncio.create_task(wait(name, slots.take())))
        await settle()
    busy = slots.take()
    over.set()
    await settle()
    assert slots.free == 0
    busy.end()
    await asyncio.gather(*tasks)
    assert order == ["first", "second", "third"]
    assert slots.free == 1


@pytest.mark.parametrize("is_over", [True, False])
async def test_run_that_is_stopped_while_it_waits_needs_no_free_slot(slots, is_over):
    slot, over = slots.take(), asyncio.Event()
    waiting = asyncio.create_task(wait_with(slot, over))
    await settle()
    other = slots.take()
    if is_over:
        over.set()
    await settle()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled()
    slot.end()
    assert slots.free == 0
    other.end()
    assert slots.free == 1


async def test_waits_inside_one_another_lend_the_slot_once(slots):
    slot = slots.take()
    async with slot.lend():
        async with slot.lend():
            assert slots.free == 1
        assert slots.free == 1
    assert slots.free == 0
    slot.end()
    assert slots.free == 1


async def test_runs_that_wait_are_bounded_for_each_slot(slots):
    over = asyncio.Event()
    tasks = []
    while slots.free:
        tasks.append(asyncio.create_task(wait_with(slots.take(), over)))
        await settle()
    assert len(tasks) == MAX_RUNS_PER_SLOT
    over.set()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)

"""Requests begin with the bytes of those before them, so that a provider reads them from its cache."""

from pathlib import Path

from tests.bench import context_cost
from tests.support.prompt_cache import PromptCache


def body(*texts, marks=1):
    """A request whose last ``marks`` blocks have a mark."""
    blocks = [{"type": "text", "text": text} for text in texts]
    for block in blocks[len(blocks) - marks :]:
        block["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "messages": [{"role": "user", "content": blocks}]}


LONG, MORE, OTHER = ("a " * 4000, "b " * 4000, "c " * 4000)


def test_prompt_cache_reads_what_was_marked_before_and_nothing_else():
    cache = PromptCache()
    first = cache.count(body(LONG))
    assert (first.input, first.cache_read) == (0, 0)
    second = cache.count(body(LONG, MORE))
    assert (second.input, second.cache_read) == (0, first.cache_write)
    assert second.cache_write >= 2000
    assert cache.count(body(OTHER, LONG)).cache_read == 0
    assert cache.count(body(LONG, MORE)).cache_write == 0
    assert cache.count(body("short")).cache_write == 0


def test_nine_tenths_of_the_input_are_read_from_the_cache_over_twenty_turns():
    llm = context_cost.run_twenty_turns()
    assert llm.read / llm.tokens >= 0.9
    assert llm.cost / llm.tokens <= 0.2
    for before, after in zip(llm.usages, llm.usages[1:], strict=False):
        assert after.cache_read >= before.cache_read + before.cache_write, "nothing was rewritten"


def test_old_results_that_are_left_out_in_batches_cost_half_of_those_left_out_in_each_step():
    assert not context_cost.batched_trimming(Path()).falls_short

"""The import of litellm, for providers that speak a dialect of their own."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.process]
ROOT = Path(__file__).parents[3]


async def test_litellm_import_blocks_no_event_loop_and_reads_no_keys(tmp_path):
    """In another process, since this one may have imported it already."""
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-of-a-file\n")
    program = (
        "import asyncio, os, time\n"
        "from paca.engine.llm.litellm import library\n"
        "async def tick(gaps):\n"
        "    while True:\n"
        "        began = time.monotonic(); await asyncio.sleep(0.01)\n"
        "        gaps.append(time.monotonic() - began)\n"
        "async def main():\n"
        "    gaps = []; ticking = asyncio.create_task(tick(gaps))\n"
        "    await library.load(); ticking.cancel()\n"
        "    print(len(gaps), max(gaps), os.environ.get('OPENAI_API_KEY'))\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    ticks, longest, key = out.decode().split()
    assert int(ticks) > 20
    assert float(longest) < 15  # the length of a lease
    assert key == "None"

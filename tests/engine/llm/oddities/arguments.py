"""Arguments of calls. A call that cannot be read has none, and says so to the model."""

import json

from tests.engine.llm.oddities.shape import LS, Shape, calling, claude_calls

BREAKS = {"command": "a\n\tb"}
NOT_READ = (("bash", {}),)
SHAPES = {
    "real line feeds and tabs": Shape(body=calling('{"command": "a\n\tb"}'), calls=(("bash", BREAKS),)),
    "other control characters": Shape(body=calling('{"command": "a\x1bb"}'), calls=(("bash", {"command": "a\x1bb"}),)),
    "encoded twice": Shape(body=calling(json.dumps(json.dumps(LS))), calls=(("bash", LS),)),
    "an object": Shape(body=calling(LS), calls=(("bash", LS),)),
    "null": Shape(body=calling(None), calls=NOT_READ),
    "cut": Shape(body=calling('{"command": "rm -r'), calls=NOT_READ),
    "a trailing comma": Shape(body=calling('{"command": "ls",}'), calls=NOT_READ),
    "single quotes": Shape(body=calling("{'command': 'ls'}"), calls=NOT_READ),
    "a bare command": Shape(body=calling("ls -l"), calls=NOT_READ),
    "a fenced block": Shape(body=calling('```json\n{"command": "ls"}\n```'), calls=NOT_READ),
    "NaN": Shape(body=calling('{"command": NaN}'), calls=NOT_READ),
    "fields of its own": Shape(body=calling('{"command": "ls"}', extra_content={"google": {"thought_signature": "SIG=="}}), calls=(("bash", LS),)),
    "Claude: real line feeds": Shape(dialect="anthropic", body=claude_calls('{"command": "a\n', '\tb"}'), calls=(("bash", BREAKS),)),
    "Claude: encoded twice": Shape(dialect="anthropic", body=claude_calls(json.dumps(json.dumps(LS))), calls=(("bash", LS),)),
    "Claude: cut": Shape(dialect="anthropic", body=claude_calls('{"command": "rm'), calls=NOT_READ),
}  # fmt: skip

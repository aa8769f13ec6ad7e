"""What docstrings owe a reader: a public function names each error that it raises itself."""

import ast
from collections.abc import Iterator

from tests.test_architecture import modules, tree_of

# A framework calls these and turns their errors into answers; their docstrings are shown to API users.
FRAMEWORK_HOOKS = {
    "get",
    "post",
    "patch",
    "put",
    "delete",
    "handle",
    "validate",
    "to_internal_value",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def public_functions(node: ast.AST) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, NESTED[:3]) and child.name.startswith("_"):
            continue
        if isinstance(child, ast.ClassDef):
            yield from public_functions(child)
        elif isinstance(child, Function) and not is_framework_hook(child.name):
            yield child


def is_framework_hook(name: str) -> bool:
    return name in FRAMEWORK_HOOKS or name.startswith("clean_")


def raised_errors(function: Function) -> Iterator[str]:
    """Names of the classes that a function raises itself and does not catch itself."""
    open_nodes: list[tuple[ast.AST, frozenset[str]]] = [
        (child, frozenset()) for child in function.body
    ]
    while open_nodes:
        node, caught = open_nodes.pop()
        if isinstance(node, NESTED):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = getattr(error, "id", getattr(error, "attr", ""))
            if name[:1].isupper() and name not in caught and name != "NotImplementedError":
                yield name
        if isinstance(node, ast.Try):
            types = [handler.type for handler in node.handlers]
            inner = caught | {getattr(each, "id", "") for each in types}
            open_nodes += [(child, inner) for child in node.body]
            open_nodes += [(child, caught) for each in node.handlers for child in each.body]
            open_nodes += [(child, caught) for child in (*node.orelse, *node.finalbody)]
        else:
            open_nodes += [(child, caught) for child in ast.iter_child_nodes(node)]


def test_public_functions_name_the_errors_that_they_raise():
    silent = []
    for name in modules():
        for function in public_functions(tree_of(name)):
            told = ast.get_docstring(function) or ""
            missing = sorted({error for error in raised_errors(function) if error not in told})
            if missing:
                silent.append(f"{name}:{function.lineno} {function.name}: {', '.join(missing)}")
    assert not silent, "\n".join(silent)


def test_a_silent_function_is_found():
    """The control: an error that is raised counts, one that is caught in place does not."""
    source = "def f():\n try:\n  raise OSError\n except OSError:\n  raise Invalid('x')\n"
    [function] = public_functions(ast.parse(source))
    assert list(raised_errors(function)) == ["Invalid"]

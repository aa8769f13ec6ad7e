"""The import contracts of ``.importlinter`` are kept, and each of them notices a planted import."""

import copy
import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter.application.use_cases import read_user_options
from importlinter.configuration import configure
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.domain.contract import Contract

ROOT = Path(__file__).resolve().parent.parent
TYPES: dict[str, type[Contract]] = {
    "layers": LayersContract,
    "forbidden": ForbiddenContract,
    "acyclic_siblings": AcyclicSiblingsContract,
    "independence": IndependenceContract,
}


@cache
def contracts() -> dict[str, Contract]:
    """The contracts of ``.importlinter`` by their id."""
    configure()
    options = read_user_options(config_filename=str(ROOT / ".importlinter"))
    return {
        each["id"]: TYPES[each["type"]](
            name=each["name"],
            session_options=options.session_options,
            contract_options={
                key: value for key, value in each.items() if key not in {"id", "name", "type"}
            },
        )
        for each in options.contracts_options
    }


@cache
def imports_of_paca() -> grimp.ImportGraph:
    return grimp.build_graph("paca", include_external_packages=True, cache_dir=None)


def is_kept(contract: Contract, *, planted: tuple[str, str] | None = None) -> bool:
    """Whether the contract is kept by the code, with one more import if ``planted`` is given."""
    graph = copy.deepcopy(imports_of_paca())
    if planted:
        graph.add_import(importer=planted[0], imported=planted[1])
    return contract.check(graph, verbose=False).kept


def a_module_of(room: str) -> str:
    """The module of a room (``paca.engine``) that is deepest inside of it."""
    inside = imports_of_paca().find_descendants(room) | {room}
    return max(inside, key=lambda module: (module.count("."), module))


def forbidden_pairs() -> Iterator[tuple[str, str]]:
    """Every pair of rooms of which the first may not import the second."""
    layers = contracts()["layers"].layers
    rooms = [[f"paca.{tail.name}" for tail in layer.module_tails] for layer in layers]
    for upper, lower in itertools.combinations(rooms, 2):
        yield from itertools.product(lower, upper)
    for layer, names in zip(layers, rooms, strict=True):
        if layer.is_independent:
            yield from itertools.permutations(names, 2)


@pytest.mark.parametrize("name", contracts())
def test_contract_is_kept(name):
    assert is_kept(contracts()[name])


def test_layers_contract_notices_an_upward_or_sideways_import_between_any_two_rooms():
    pairs = sorted(forbidden_pairs())
    assert len(pairs) > 100
    unnoticed = [
        f"{lower} -> {upper}"
        for lower, upper in pairs
        if is_kept(contracts()["layers"], planted=(a_module_of(lower), a_module_of(upper)))
    ]
    assert not unnoticed


def test_layers_contract_names_every_room():
    """Otherwise a new folder of ``paca`` could import what it likes."""
    named = {
        f"paca.{tail.name}" for layer in contracts()["layers"].layers for tail in layer.module_tails
    }
    assert named == imports_of_paca().find_children("paca")


def test_circles_contract_notices_a_circle_of_two_modules_in_each_package():
    graph = imports_of_paca()
    unnoticed = []
    for package in sorted(module for module in graph.modules if module.startswith("paca")):
        for importer, imported in itertools.permutations(sorted(graph.find_children(package)), 2):
            if graph.direct_import_exists(importer=importer, imported=imported):
                if is_kept(contracts()["circles"], planted=(imported, importer)):
                    unnoticed.append(f"{imported} -> {importer}")
                break
    assert not unnoticed


def test_sandbox_backends_contract_notices_an_import_of_one_backend_by_another():
    backends = ("paca.sandbox.docker", "paca.sandbox.bubblewrap")
    for importer, imported in itertools.permutations(map(a_module_of, backends)):
        assert not is_kept(contracts()["sandbox-backends"], planted=(importer, imported))


@pytest.mark.parametrize(
    "name", [name for name, each in contracts().items() if isinstance(each, ForbiddenContract)]
)
def test_forbidden_contract_notices_an_import_of_each_library(name):
    contract = contracts()[name]
    unnoticed = [
        f"{source} -> {library}"
        for source in map(str, contract.source_modules)
        for library in map(str, contract.forbidden_modules)
        if library in imports_of_paca().modules
        and is_kept(contract, planted=(a_module_of(source), library))
    ]
    assert not unnoticed

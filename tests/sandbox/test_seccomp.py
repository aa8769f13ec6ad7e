"""The filter of system calls of the bubblewrap backend, run as the kernel does."""

import struct

import pytest

from paca.sandbox import seccomp


def verdict(program: bytes, number: int, argument: int = 0, *, arch: int = 0xC000003E) -> int:
    """The result of the filter for one call, computed as the kernel does."""
    code = [struct.unpack("HBBI", program[i : i + 8]) for i in range(0, len(program), 8)]
    data = struct.pack("=IIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    loaded, at = 0, 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == seccomp.LOAD:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif operation == seccomp.RETURN:
            return value
        else:
            holds = {
                seccomp.JUMP_EQUAL: loaded == value,
                seccomp.JUMP_AT_LEAST: loaded >= value,
                seccomp.JUMP_SET: bool(loaded & value),
            }[operation]
            at += if_true if holds else if_false


@pytest.mark.parametrize(("machine", "arch"), [("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)])
def test_the_seccomp_filter_refuses_the_listed_calls_and_allows_the_others(
    monkeypatch, machine, arch
):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: machine)
    program = seccomp.program()
    column = seccomp.ARCHITECTURES[machine][0]
    refused = {numbers[column] for numbers in seccomp.REFUSED_CALLS.values()}
    for number in refused:
        assert verdict(program, number, arch=arch) == seccomp.EPERM
    clone, clone3, socket = (x[column] for x in (seccomp.CLONE, seccomp.CLONE3, seccomp.SOCKET))
    assert verdict(program, clone3, arch=arch) == seccomp.ENOSYS
    assert verdict(program, clone, 0x01200011, arch=arch) == seccomp.ALLOW  # fork
    assert verdict(program, clone, 0x003D0F00, arch=arch) == seccomp.ALLOW  # a thread
    assert verdict(program, clone, 0x10000011, arch=arch) == seccomp.EPERM  # a user namespace
    for family, expected in (
        (1, seccomp.ALLOW),
        (2, seccomp.ALLOW),
        (38, seccomp.EPERM),
        (40, seccomp.EPERM),
    ):
        assert verdict(program, socket, family, arch=arch) == expected
    for number in set(range(450)) - refused - {clone, clone3, socket}:
        assert verdict(program, number, arch=arch) == seccomp.ALLOW
    assert verdict(program, 1, arch=0x40000003) == seccomp.EPERM  # 32-bit calls
    assert verdict(program, seccomp.X32 + 1, arch=arch) == seccomp.ENOSYS


def test_the_seccomp_filter_is_absent_on_an_unknown_processor(monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert seccomp.program() is None

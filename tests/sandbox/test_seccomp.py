"""The filters of system calls, run as the kernel does."""

import struct
from collections.abc import Iterator

import pytest

from paca.sandbox import seccomp
from paca.sandbox.runner import bpf, runner_protection

MACHINES = pytest.mark.parametrize("machine", list(bpf.ARCHITECTURES))


@pytest.fixture
def column(machine: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The column of the machine's call numbers, on that machine."""
    monkeypatch.setattr(bpf, "machine", lambda: bpf.ARCHITECTURES[machine])
    return bpf.ARCHITECTURES[machine][0]


def verdict(program: bytes, number: int, *arguments: int, arch: int) -> int:
    """The result of the filter for one call, computed as the kernel does."""
    code = [struct.unpack("HBBI", program[i : i + 8]) for i in range(0, len(program), 8)]
    data = struct.pack("=IIQ6Q", number, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    loaded, at = 0, 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == bpf.LOAD:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif operation == bpf.RETURN:
            return value
        else:
            holds = {
                bpf.JUMP_EQUAL: loaded == value,
                bpf.JUMP_AT_LEAST: loaded >= value,
                bpf.JUMP_SET: bool(loaded & value),
            }[operation]
            at += if_true if holds else if_false


@MACHINES
def test_the_seccomp_filter_allows_the_listed_calls_and_refuses_the_others(machine, column):
    program, arch = seccomp.program(), bpf.ARCHITECTURES[machine][1]
    allowed = {row[column] for row in seccomp.allowed_calls().values()} - {None}
    by_arguments = {
        pair[column]
        for pair in (seccomp.CLONE, seccomp.CLONE3, seccomp.SOCKET, seccomp.PERSONALITY)
    }
    assert not allowed & by_arguments
    for number in range(max(allowed) + 1):
        if number not in by_arguments:
            expected = bpf.ALLOW if number in allowed else bpf.EPERM
            assert verdict(program, number, arch=arch) == expected, number
    assert verdict(program, max(allowed) + 1, arch=arch) == bpf.ENOSYS
    assert verdict(program, 0x40000001, arch=arch) == bpf.ENOSYS  # the x32 calls
    assert verdict(program, 1, arch=0x40000003) == bpf.EPERM  # 32-bit calls


@MACHINES
def test_the_seccomp_filter_decides_some_calls_by_their_arguments(machine, column):
    program, arch = seccomp.program(), bpf.ARCHITECTURES[machine][1]
    clone, clone3, socket, personality = (
        pair[column]
        for pair in (seccomp.CLONE, seccomp.CLONE3, seccomp.SOCKET, seccomp.PERSONALITY)
    )
    assert verdict(program, clone3, arch=arch) == bpf.ENOSYS
    assert verdict(program, clone, 0x01200011, arch=arch) == bpf.ALLOW  # fork
    assert verdict(program, clone, 0x003D0F00, arch=arch) == bpf.ALLOW  # a thread
    assert verdict(program, clone, 0x10000011, arch=arch) == bpf.EPERM  # a user namespace
    families = {1: bpf.ALLOW, 2: bpf.ALLOW, 16: bpf.ALLOW, 17: bpf.EPERM, 38: bpf.EPERM}
    for family, expected in families.items():
        assert verdict(program, socket, family, arch=arch) == expected
    assert verdict(program, socket, 0x100000026, arch=arch) == bpf.EPERM  # AF_ALG in disguise
    assert verdict(program, personality, 0xFFFFFFFF, arch=arch) == bpf.ALLOW
    assert verdict(program, personality, 0x0040000, arch=arch) == bpf.EPERM


def test_the_list_of_allowed_calls_contains_none_of_those_that_had_holes():
    refused = (
        "ptrace mount umount2 unshare setns bpf keyctl io_uring_setup userfaultfd process_vm_readv"
    )
    refused += " pidfd_getfd perf_event_open kexec_load init_module open_by_handle_at fsopen chroot"
    assert not set(refused.split()) & set(seccomp.allowed_calls())


def test_the_seccomp_filter_is_absent_on_an_unknown_processor(monkeypatch):
    monkeypatch.setattr(bpf, "machine", lambda: None)
    assert seccomp.program() is None


@MACHINES
@pytest.mark.parametrize("pinned", [True, False])
def test_the_filter_of_commands_refuses_what_acts_on_the_runner(machine, column, pinned):
    arch = bpf.ARCHITECTURES[machine][1]
    program = runner_protection.program(column, arch, pinned=pinned, counted=not pinned)
    for name, numbers in runner_protection.ACTING_ON_A_PROCESS.items():
        others = bpf.EPERM if pinned and name == "sched_setaffinity" else bpf.ALLOW
        for pid, expected in ((1, bpf.EPERM), (0x500000001, bpf.EPERM), (0, others), (7, others)):
            assert verdict(program, numbers[column], pid, arch=arch) == expected, name
    priority = runner_protection.SETPRIORITY[column]
    assert verdict(program, priority, 0, 0, 5, arch=arch) == bpf.ALLOW
    for which, target in ((0, 1), (1, 0), (2, 0)):  # the runner, a group, a user
        assert verdict(program, priority, which, target, arch=arch) == bpf.EPERM
    signal = runner_protection.PIDFD_SEND_SIGNAL[column]
    assert verdict(program, signal, 3, 0, arch=arch) == bpf.ENOSYS
    for request in runner_protection.TYPING_IOCTLS:
        for disguise in (request, (5 << 32) | request):
            refused = verdict(program, runner_protection.IOCTL[column], 0, disguise, arch=arch)
            assert refused == bpf.EPERM
    prctl = runner_protection.PRCTL[column]
    pretended = bpf.ERROR  # the error number 0
    assert verdict(program, prctl, 4, 0, arch=arch) == pretended
    assert verdict(program, prctl, 4, 1, arch=arch) == bpf.ALLOW
    assert verdict(program, prctl, 15, 0, arch=arch) == bpf.ALLOW
    assert verdict(program, 1, arch=arch) == bpf.ALLOW


@MACHINES
@pytest.mark.parametrize("counted", [True, False])
def test_the_filter_of_commands_refuses_space_that_cannot_be_counted(machine, column, counted):
    arch = bpf.ARCHITECTURES[machine][1]
    program = runner_protection.program(column, arch, pinned=False, counted=counted)
    expected = bpf.EOPNOTSUPP if counted else bpf.ALLOW
    fallocate, ioctl = runner_protection.FALLOCATE[column], runner_protection.IOCTL[column]
    for mode in (
        0x00,
        0x01,
        0x10,
        0x40,
    ):  # take space, also without a longer file, as zeros, as a copy
        assert verdict(program, fallocate, 3, mode, arch=arch) == expected, mode
    for mode in (0x03, 0x08):  # give space back
        assert verdict(program, fallocate, 3, mode, arch=arch) == bpf.ALLOW, mode
    for request in runner_protection.TAKING_IOCTLS:
        assert verdict(program, ioctl, 3, request, arch=arch) == expected
        assert verdict(program, ioctl, 3, (5 << 32) | request, arch=arch) == expected
    assert verdict(program, ioctl, 1, 0x5401, arch=arch) == bpf.ALLOW  # TCGETS
    for name, numbers in runner_protection.SETTING_ATTRIBUTES.items():
        assert verdict(program, numbers[column], arch=arch) == expected, name

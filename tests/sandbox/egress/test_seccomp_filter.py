"""The filter of the gate process, run as the kernel does, and what the process does without the refused calls."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from paca.sandbox.egress import seccomp_filter
from paca.sandbox.runner import bpf
from tests.sandbox.test_seccomp import MACHINES, verdict
from tests.sandbox.test_seccomp import column as column

CHANNEL = 7


@MACHINES
def test_filter_of_the_gate_allows_descriptors_from_its_channel_only(machine, column):
    arch = bpf.ARCHITECTURES[machine][1]
    program = seccomp_filter.program(column, arch, channel=CHANNEL)
    receive = seccomp_filter.RECVMSG[column]
    assert verdict(program, receive, CHANNEL, arch=arch) == bpf.ALLOW
    for other in (0, CHANNEL - 1, CHANNEL + 1, 1 << 31):
        assert verdict(program, receive, other, arch=arch) == bpf.EPERM


@MACHINES
def test_filter_of_the_gate_keeps_its_channel_in_its_place(machine, column):
    arch = bpf.ARCHITECTURES[machine][1]
    program = seccomp_filter.program(column, arch, channel=CHANNEL)
    close, dup2, dup3 = (
        numbers[column]
        for numbers in (seccomp_filter.CLOSE, seccomp_filter.DUP2, seccomp_filter.DUP3)
    )
    assert verdict(program, close, CHANNEL, arch=arch) == bpf.EPERM
    assert verdict(program, close, (5 << 32) | CHANNEL, arch=arch) == bpf.EPERM
    assert verdict(program, close, CHANNEL + 1, arch=arch) == bpf.ALLOW
    for call in filter(None, (dup2, dup3)):
        assert verdict(program, call, 3, CHANNEL, arch=arch) == bpf.EPERM
        assert verdict(program, call, CHANNEL, 3, arch=arch) == bpf.ALLOW


@MACHINES
def test_filter_of_the_gate_allows_sockets_of_the_internet_and_no_pairs(machine, column):
    arch = bpf.ARCHITECTURES[machine][1]
    program = seccomp_filter.program(column, arch, channel=CHANNEL)
    for family in range(64):
        wanted = family in (socket.AF_INET, socket.AF_INET6)
        found = verdict(program, seccomp_filter.SOCKET[column], family, arch=arch)
        assert found == (bpf.ALLOW if wanted else bpf.EPERM), family
    for name, numbers in seccomp_filter.REFUSED.items():
        assert verdict(program, numbers[column], CHANNEL, arch=arch) == bpf.EPERM, name
    assert verdict(program, 1, arch=0x40000003) == bpf.EPERM  # 32-bit calls
    assert verdict(program, 0, arch=arch) == bpf.ALLOW


@pytest.mark.parametrize(
    ("missing", "replaced"),
    [
        ("the processor", ("paca.sandbox.runner.bpf.machine", lambda: None)),
        ("the kernel", ("paca.sandbox.runner.bpf.can_apply", lambda: False)),
        ("glibc", ("platform.libc_ver", lambda: ("", ""))),
    ],
)
def test_gate_without_a_possible_filter_goes_on_without_it(missing, replaced, monkeypatch):
    monkeypatch.setattr(*replaced)
    monkeypatch.setattr(bpf, "apply", lambda program: pytest.fail(f"not without {missing}"))
    assert not seccomp_filter.apply(CHANNEL)


# In a network of its own, where a server of names is at the first address of resolv.conf.
RESOLVES = """
import asyncio, os, socket, subprocess, sys, threading
with open(sys.argv[1], "w") as settings:
    settings.write("nameserver 127.0.0.1\\n")
subprocess.run(["mount", "--bind", sys.argv[1], os.path.realpath("/etc/resolv.conf")], check=True)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def answer():
    while True:
        asked, address = server.recvfrom(512)
        end = asked.index(b"\\0", 12) + 5
        kind = int.from_bytes(asked[end - 4 : end - 2], "big")
        data = socket.inet_aton("93.184.216.34") if kind == 1 else socket.inet_pton(socket.AF_INET6, "2606:2800::1")
        record = b"\\xc0\\x0c" + asked[end - 4 : end] + bytes(4) + len(data).to_bytes(2, "big") + data
        server.sendto(asked[:2] + b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0" + asked[12:end] + record, address)
threading.Thread(target=answer, daemon=True).start()
from paca.sandbox.egress import addresses, isolation, opener, seccomp_filter
seccomp_filter.prepare()
isolation._load_what_comes_late()
with asyncio.Runner() as runner:
    runner.get_loop()
    assert seccomp_filter.apply(opener.make_channel()[0].fileno())
    print(*sorted(map(str, runner.run(addresses.resolve("files.example", 443)))))
"""


def test_filtered_gate_resolves_names_by_a_server_to_addresses_of_both_families(tmp_path: Path):
    apart = ["unshare", "--user", "--map-root-user", "--mount", "--net"]
    if subprocess.run([*apart, "ip", "link"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces of users here")
    command = [*apart, sys.executable, "-c", RESOLVES, str(tmp_path / "resolv.conf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["2606:2800::1", "93.184.216.34"], done.stderr

"""The seccomp profile for Docker: a list of allowed calls without any refused one."""

import json

from paca.sandbox import seccomp
from paca.sandbox.docker import seccomp_profile

# What Docker's own profile keeps from a container without capabilities.
REFUSED_BY_DOCKER = [
    "acct",
    "add_key",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "get_kernel_syms",
    "get_mempolicy",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mbind",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "query_module",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "set_mempolicy",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "stime",
    "swapoff",
    "swapon",
    "sysfs",
    "syslog",
    "_sysctl",
    "umount",
    "umount2",
    "unshare",
    "uselib",
    "userfaultfd",
    "ustat",
    "vhangup",
    "vm86",
    "vm86old",
]


def test_the_profile_allows_no_call_that_docker_refuses():
    allowed = set(seccomp.allowed_calls())
    assert not allowed & set(REFUSED_BY_DOCKER)
    assert not allowed & {"clone", "clone3", "socket", "personality"}, "these depend on arguments"


def test_the_profile_refuses_calls_that_it_does_not_list():
    profile = json.loads(seccomp_profile.profile())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    rules = profile["syscalls"]
    named = [name for rule in rules for name in rule["names"]]
    assert {rule["action"] for rule in rules if rule["names"] != ["clone3"]} == {"SCMP_ACT_ALLOW"}
    assert {"read", "execve", "futex", "rseq", "getrandom"} <= set(named)


def test_the_profile_compares_arguments_as_the_kernel_reads_them():
    """The kernel ignores the upper bits, so a comparison of all 64 bits could be bypassed."""
    rules = json.loads(seccomp_profile.profile())["syscalls"]
    compared = [argument for rule in rules for argument in rule.get("args", ())]
    assert {argument["op"] for argument in compared} == {"SCMP_CMP_MASKED_EQ"}
    families = {rule["args"][0]["valueTwo"] for rule in rules if rule["names"] == ["socket"]}
    assert families == {1, 2, 10, 16}

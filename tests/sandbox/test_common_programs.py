"""Common programs work in a sandbox, although only listed system calls are allowed."""

import pytest

pytestmark = [pytest.mark.service, pytest.mark.anyio]

# By name of the program: a line that prints "fine" at its end. A program that is missing is left out.
PROGRAMS = {
    "python3": """python3 -c '
import asyncio, ctypes, mmap, multiprocessing, os, select, signal, socket, sqlite3, ssl, subprocess, tempfile, threading
def work(n): return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(work, [2]) == [4]
    thread = threading.Thread(target=print); thread.start(); thread.join()
    server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname())
    left, right = socket.socketpair(); left.send(b"x")
    sqlite3.connect("x.db").execute("create table t (a)"); tempfile.TemporaryFile().write(b"x")
    asyncio.run(asyncio.create_subprocess_exec("true")); signal.setitimer(signal.ITIMER_REAL, 9)
    mmap.mmap(-1, 4096); os.memfd_create("x"); select.epoll(); os.pidfd_open(os.getpid()); os.eventfd(1)
    os.posix_fallocate(os.open("big", os.O_RDWR | os.O_CREAT), 0, 4096); os.sendfile(os.open("big", os.O_WRONLY), os.open("big", os.O_RDONLY), 0, 9)
    subprocess.run(["true"], check=True); ssl.create_default_context(); print("fine")
'""",
    "node": 'node -e \'require("fs").writeFileSync("n", "x"); new (require("worker_threads").Worker)("1", {eval: true}).on("exit", () => console.log("fine"))\'',
    "npm": "npm --version && echo fine",
    "git": "git init -q g && cd g && echo x > a && git add a && git commit -qm a && git gc -q && git clone -q . ../g2 && git -C ../g2 fsck && git stash list && echo fine",
    "gcc": "printf '#include <pthread.h>\\n#include <stdio.h>\\nvoid *f(void *a) { return a; } int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts(\"fine\"); }' > c.c && gcc -O2 c.c -o c -lpthread && ./c",
    "make": "printf 'all: a b\\n\\ta:\\n' | sed 's/^\\t//' > Makefile; printf 'all: a b\\na b:\\n\\ttouch $@\\n' > Makefile && make -j4 all && echo fine",
    "perl": 'perl -e \'fork // die; wait; open(F, "|-", "cat"); print F "fine\\n"\'',
    "java": "java -version && echo fine",
    "sqlite3": "sqlite3 s.db 'pragma journal_mode=wal; create table t (a); insert into t values (1)' && echo fine",
    "jq": 'echo \'{"a": "fine"}\' | jq -r .a',
    "rg": "echo fine > r.txt && rg -I fine r.txt",
    "tar": "mkdir -p t && echo x > t/a && tar czf t.tgz t && tar xzf t.tgz && zip -qr t.zip t; unzip -qo t.zip; echo fine",
    "curl": "curl -s --max-time 2 http://127.0.0.1:9/; curl --version > /dev/null && echo fine",
    "ssh": "ssh -V && ssh-keygen -q -t ed25519 -N '' -f key && echo fine",
    "openssl": "openssl rand -hex 4 && openssl dgst -sha256 /etc/passwd && echo fine",
    "script": "script -qec 'tty; echo fine' /dev/null",
    "flock": "flock lock true && timeout 5 nice -n 5 ionice -c 3 setsid -w nohup true && echo fine",
    "find": "find /usr/bin -name 'python*' | xargs -P 2 -n 1 ls -l > /dev/null; cp -a --reflink=auto /etc/passwd p && mv p q && ln -s q r && rsync --version > /dev/null 2>&1; df . > /dev/null && du -s . && echo fine",
    "ps": "ps aux > /dev/null; top -bn1 > /dev/null; free > /dev/null; uptime > /dev/null; echo fine",
    "pip": "pip --version && python3 -m venv --without-pip v && v/bin/python -c 'print(\"fine\")'",
    "apt-get": "apt-get --version > /dev/null && dpkg --list > /dev/null; echo fine",
    "bash": "set -m; sleep 30 & sleep 0.1; kill -STOP %1; jobs; kill %1; bg; wait; coproc cat; echo x >&${COPROC[1]}; read -ru ${COPROC[0]}; trap 'echo fine' EXIT; ulimit -a > /dev/null; exec 3<> <(true); mkfifo f; echo a > f & cat f",
}


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_common_program_works_in_a_sandbox(handle, name):
    if (await handle.bash(f"command -v {name}")).exit_code != 0:
        return  # it is not on this machine or not in the image
    outcome = await handle.bash(PROGRAMS[name], seconds=60)
    assert outcome.output.split()[-1:] == ["fine"], outcome.output

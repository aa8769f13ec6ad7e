"""A real git server: ``git http-backend`` behind a small threaded HTTP server with credentials."""

from __future__ import annotations

import base64
import contextlib
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "s3cr3t-t0ken-of-the-server"
HEADER = "Basic " + base64.b64encode(f"git:{TOKEN}".encode()).decode()
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git(*arguments: str, cwd: Path | None = None, **more: Any) -> str:
    """What a git command printed. Raises ``CalledProcessError``."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, **more.pop("env", {})},
        check=True,
        capture_output=True,
        text=True,
        **more,
    )
    return done.stdout.strip()


class GitServer:
    """Serves the bare repositories below ``root``. ``header``: the ``Authorization`` that it wants; empty for none.

    ``redirect``: where it sends every request. ``requests``: method, path and headers of each. ``speaks_version_2`` is
    false for a server that knows the older protocols only.
    """

    def __init__(self, root: Path, *, header: str = HEADER) -> None:
        self.root = root
        self.header = header
        self.redirect = ""
        self.speaks_version_2 = True
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        root.mkdir(parents=True, exist_ok=True)
        server = self

        class Handler(_Handler):
            git_server = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> GitServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def create(
        self, name: str, files: dict[str, bytes] | None = None, *, object_format: str = "sha1"
    ) -> Path:
        """A bare repository with one commit on main."""
        bare, work = self.root / f"{name}.git", self.root / f"{name}.work"
        how = f"--object-format={object_format}"
        git("init", "-q", "--bare", how, "-b", "main", str(bare))
        git("-C", str(bare), "config", "http.receivepack", "true")
        git("-C", str(bare), "config", "uploadpack.allowFilter", "true")
        git("init", "-q", how, "-b", "main", str(work))
        self.commit(name, files or {"README.md": b"hello\n"})
        return bare

    def commit(self, name: str, files: dict[str, bytes], branch: str = "main") -> str:
        """A further commit on a branch; gives its hash."""
        bare, work = self.root / f"{name}.git", self.root / f"{name}.work"
        git("-C", str(work), "checkout", "-q", "-B", branch)
        for path, data in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_bytes(data)
        git("-C", str(work), "add", "-A")
        git("-C", str(work), "commit", "-q", "--allow-empty", "-m", "work")
        git("-C", str(work), "push", "-q", str(bare), branch)
        return git("-C", str(work), "rev-parse", "HEAD")

    def refs(self, name: str) -> dict[str, str]:
        """The refs of a repository with their commits."""
        lines = git("-C", str(self.root / f"{name}.git"), "show-ref").splitlines()
        return {ref: commit for commit, ref in (line.split() for line in lines)}

    def url(self, name: str) -> str:
        """The address of a repository."""
        return f"{self.address}/{name}.git"


class _Handler(BaseHTTPRequestHandler):
    git_server: GitServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        server = self.git_server
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.requests.append((self.command, self.path, headers))
        self.close_connection = True
        if server.redirect:
            self._answer(302, [("Location", server.redirect + self.path)])
        elif server.header and headers.get("authorization") != server.header:
            for _ in self._body(
                headers
            ):  # a connection that ends with an unread body may lose the answer
                pass
            self._answer(401, [("WWW-Authenticate", 'Basic realm="git"')])
        else:
            self._run(headers)

    def _answer(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def _run(self, headers: dict[str, str]) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self.git_server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
            "GIT_PROTOCOL": headers.get("git-protocol", "")
            if self.git_server.speaks_version_2
            else "",
            "REMOTE_USER": "git",
        }
        process = subprocess.Popen(
            ["git", "http-backend"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        feeding = threading.Thread(target=self._feed, args=(process.stdin, headers))
        feeding.start()
        self._pass(process.stdout)
        feeding.join()
        process.stdout.close()
        process.wait()

    def _feed(self, stdin: Any, headers: dict[str, str]) -> None:
        try:
            for piece in self._body(headers):
                stdin.write(piece)
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError):
                stdin.close()

    def _body(self, headers: dict[str, str]) -> Any:
        if headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(headers.get("content-length", 0))
        while left and (piece := self.rfile.read(min(left, 1 << 16))):
            left -= len(piece)
            yield piece

    def _pass(self, output: Any) -> None:
        status, found = 200, []
        while line := output.readline().strip():
            name, _, value = line.decode().partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            else:
                found.append((name, value))
        self.send_response(status)
        for name, value in found:
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while piece := output.read1(1 << 16):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            output.close()

"""Where the ledger's tests keep a ledger: a file, or a PostgreSQL server that they start and stop themselves."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

PASSWORD = "s3cret@home:yes"


@dataclass(frozen=True)
class Server:
    """A running PostgreSQL server on loopback."""

    port: int
    user: str
    password: str = PASSWORD

    def url(self, schema: str, *, password: bool = True) -> str:
        login = f"{self.user}:{quote(self.password, safe='')}" if password else self.user
        return f"postgresql+psycopg://{login}@127.0.0.1:{self.port}/postgres?options=-csearch_path%3D{schema}"

    def connect(self, schema: str = "public"):
        import psycopg

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.user,
            password=self.password,
            dbname="postgres",
            options=f"-csearch_path={schema}",
            autocommit=True,
            connect_timeout=5,
        )

    def new_schema(self) -> str:
        """Make a place of its own for a test; a database would be a thousand files."""
        name = f"ledger_{secrets.token_hex(6)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return name


def _binaries() -> Path | None:
    result = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if result:
        return result[-1].parent
    which = shutil.which("postgres")
    return Path(which).resolve().parent if which else None


def _unprivileged() -> dict[str, object]:
    """Return how to start a process as somebody other than root, whom the server refuses."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("no user but root, whom PostgreSQL refuses")


@contextmanager
def server(*, durable: bool = False) -> Iterator[Server]:
    """Start a server in a temporary folder on a free port, and stop it."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tested")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed: PostgreSQL is not tested")
    as_other = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgresql-"))
    try:
        if as_other:
            os.chown(folder, as_other["user"], as_other["group"])
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        common = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, **as_other}
        initdb = [binaries / "initdb", "-D", folder / "data", "-U", "keeper", "-E", "UTF8", "--no-sync"]
        initdb += ["-A", "scram-sha-256", "--pwfile", secret]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **common)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            running = Server(probe.getsockname()[1], "keeper")
        postgres = [binaries / "postgres", "-D", folder / "data", "-p", str(running.port)]
        postgres += ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        postgres += ["-c", f"fsync={'on' if durable else 'off'}"]  # nobody cuts the power, but it takes its time
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(postgres, stdout=log, stderr=log, **common)
        try:
            _wait(running, process, folder / "log")
            yield running
        finally:
            process.send_signal(signal.SIGQUIT)  # the server's word for: stop at once, and never mind the files
            process.wait(timeout=30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(running: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    end = time.monotonic() + 30
    while True:
        try:
            running.connect().close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail("the PostgreSQL server did not start:\n" + log.read_text())
            time.sleep(0.05)

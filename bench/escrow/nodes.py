"""Nodes of a cluster, and the store that they share: on free ports, near, or as far away as a relay makes it."""

import contextlib
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import servers

READY_SECONDS_MAX = 20


def start_node(program, name, shared, directory):
    """A `mete serve` with a share of what is in the store at the URL `shared`."""
    place = Path(directory) / name
    place.mkdir()
    config = place / "mete.toml"
    config.write_text(f'[escrow]\nshared = "{shared}"\nnode = "{name}"\n', encoding="utf-8")
    return servers.start_mete_with(program, ("--config", str(config), "--data", str(place / "data")), READY_SECONDS_MAX)


def numbers(node):
    """What the node tells of its shares."""
    return {name: int(value) for name, value in node.info("cluster").items() if value.lstrip("-").isdigit()}


def grown(node, before):
    after = numbers(node)
    return {name: after[name] - before[name] for name in after}


# --- The store that is shared ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def redis():
    """Its port, and what a URL of it begins with."""
    with servers.start_redis() as server:
        yield server.port, "redis"


@contextlib.contextmanager
def etcd():
    program = shutil.which("etcd")
    if program is None:
        raise servers.Missing("no etcd to share: ./x bench installs it, or: apt-get install etcd-server")
    port, peer_port = servers.free_port(), servers.free_port()
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    # In memory: what is measured is the distance, and not the disk.
    parent = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="mete-etcd-", dir=parent) as directory:
        command = [program, "--name", "bench", "--data-dir", directory, "--listen-client-urls", client, "--advertise-client-urls", client,
                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"bench={peer}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_health(process, client)
            yield port, "etcd"
        finally:
            process.terminate()
            process.wait()


def wait_for_health(process, url):
    deadline = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"{url}/health", timeout=1) as answer:
                if b'"true"' in answer.read():
                    return
        time.sleep(0.05)
    raise RuntimeError("etcd does not get ready")


# --- Distance ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def far_away(program, port, round_trip_seconds):
    """A port from which all that is sent to `port`, and all that comes back, is on its way for half of that time."""
    relay = Path(program).parent / "bench/mete_relay"
    process = subprocess.Popen([relay, str(port), str(round(round_trip_seconds * 500_000))], stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()

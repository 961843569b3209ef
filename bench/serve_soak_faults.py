"""What goes wrong under bench/serve_soak's server: its Redis, its disk, and itself."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import serve_servers

TIER_MIB = 96  # the file system of the disk tier, where one can be mounted
DISK_BYTES = "64MiB"


class Redis:
    """A Redis server that can be killed, stopped in its tracks, and started again, empty."""

    def __init__(self, folder):
        self.port, self._folder = serve_servers.free_port(), folder
        self.process = None
        self.start()

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no", "--dir", str(self._folder),
                   "--maxmemory", "48mb", "--maxmemory-policy", "allkeys-lru"]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Disk:
    """The tier's folder: on a small file system of its own where this user may mount one, so that it can be full."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "tier"
        self.folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={TIER_MIB}m", "tmpfs", str(self.folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False)

    def files(self):
        return [path for path in self.folder.rglob("*") if path.is_file() and path.name != "ballast"]

    def fill(self):
        try:
            with open(self.folder / "ballast", "wb", buffering=0) as file:
                while file.write(bytes(1 << 20)):
                    pass
        except OSError:
            pass  # full, as it should be

    def empty(self):
        (self.folder / "ballast").unlink(missing_ok=True)

    def damage(self, draw):
        """Other bytes in the middle of a file, or its end cut off."""
        for path in draw.sample(files := self.files(), k=min(3, len(files))):
            try:
                size = path.stat().st_size
                if draw.random() < 0.3:
                    os.truncate(path, draw.randrange(size + 1))
                    continue
                with open(path, "r+b") as file:
                    file.seek(draw.randrange(max(1, size)))
                    file.write(draw.randbytes(64))
            except FileNotFoundError:
                pass  # the server has just removed it

    def delete(self, draw):
        for path in self.files():
            if draw.random() < 0.7:
                path.unlink(missing_ok=True)


class Faults:
    """One fault after another, until `over` is set; `kills` says until when the server itself is among them."""

    def __init__(self, seed, soak, redis, disk):
        self.draw, self.soak, self.redis, self.disk = random.Random(seed), soak, redis, disk
        self.counts = {}

    def run(self, over, kills_until_s):
        while not over.wait(self.draw.uniform(2, 6)):
            faults = [self.redis_killed, self.redis_hangs, self.disk_damaged, self.disk_deleted]
            if self.disk.mounted:
                faults.append(self.disk_full)
            if time.monotonic() < kills_until_s:
                faults += [self.server_killed, self.server_stopped]
            fault = self.draw.choice(faults)
            self.counts[fault.__name__] = self.counts.get(fault.__name__, 0) + 1
            fault(over)

    def redis_killed(self, over):
        self.redis.kill()
        over.wait(self.draw.uniform(1, 8))
        self.redis.start()

    def redis_hangs(self, over):
        self.redis.process.send_signal(signal.SIGSTOP)
        over.wait(self.draw.uniform(1, 5))
        self.redis.process.send_signal(signal.SIGCONT)

    def disk_damaged(self, _):
        self.disk.damage(self.draw)

    def disk_deleted(self, _):
        self.disk.delete(self.draw)

    def disk_full(self, over):
        self.disk.fill()
        over.wait(self.draw.uniform(2, 6))
        self.disk.empty()

    def server_killed(self, _):
        self.soak.restart(signal.SIGKILL)

    def server_stopped(self, _):
        self.soak.restart(signal.SIGTERM)


def close(redis, disk):
    redis.kill()
    disk.close()
    shutil.rmtree(disk.folder, ignore_errors=True)

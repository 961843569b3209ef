#!/usr/bin/env python3
"""cairn state, as people and programs call it: on a folder and on a Redis alike, with sound and damaged objects."""

import ctypes
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
# Six objects that object_archive_test.cc wrote: runs and ends of two models, and one of neither kind.
ARCHIVE = ROOT / "tests" / "data" / "state" / "objects.bin"
SIZES = [1, 701, 1401, 2101, 2801, 3501]
START_BYTES = 64
HEADER_BYTES = 160
BLOCK_BYTES = 4096


def state(*arguments):
    return subprocess.run([CAIRN, "state", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def state_json(*arguments, code=0):
    run = state(*arguments, "--json")
    assert run.returncode == code, (run.returncode, run.stdout, run.stderr)
    return json.loads(run.stdout)


def key(number):
    return f"{number:02x}" + 31 * "00"


class Sum128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def sum_of(data):
    """XXH3, 128 bits, by the library that the program uses."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Sum128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    found = library.XXH3_128bits(data, len(data))
    return struct.pack("<QQ", found.low, found.high)


def archive_of(payloads):
    """An archive as docs/state_format.md describes it, of {number: payload}."""

    def summed(data):
        return data + sum_of(data)

    parts = [summed(b"CAIRNARC" + struct.pack("<I", 1) + bytes(36))]
    for number, payload in payloads.items():
        header = b"CAIRNOBJ" + struct.pack("<II", 1, 0) + bytes.fromhex(key(number)) + bytes(64)
        parts.append(summed(header + struct.pack("<Q", len(payload)) + sum_of(payload) + bytes(8)))
        parts.append(payload)
    totals = struct.pack("<QQ", len(payloads), sum(map(len, payloads.values())))
    parts.append(summed(b"CAIRNFIN" + struct.pack("<II", 1, 0) + totals + bytes(16)))
    return b"".join(parts)


def archive_places():
    """Of each object in the archive: where its header begins."""
    at, places = START_BYTES, []
    for size in SIZES:
        places.append(at)
        at += HEADER_BYTES + size
    return places


class RedisServer:
    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        deadline = time.monotonic() + 20
        while True:
            try:
                self.command("PING")
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def command(self, *arguments):
        """The first bytes of the answer."""
        words = [word if isinstance(word, bytes) else str(word).encode() for word in arguments]
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(request)
            return connection.recv(1 << 16)

    def stop(self):
        self.process.kill()
        self.process.wait()


class StateCommandTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.servers = 0

    def folder(self):
        path = self.scratch / "tier"
        state_json("import", path, ARCHIVE)
        return path

    def redis(self):
        if not shutil.which("redis-server"):
            self.skipTest("there is no redis-server")
        server = RedisServer(str(self.scratch))
        self.addCleanup(server.stop)
        return server

    def damage_folder(self, folder, number):
        """Changes a byte of the payload of the object with this number, wherever it lies."""
        (segment,) = folder.glob("segment-*")
        bytes_ = bytearray(segment.read_bytes())
        wanted = bytes.fromhex(key(number))
        for at in range(BLOCK_BYTES, len(bytes_), BLOCK_BYTES):
            if bytes_[at : at + 8] == b"CAIRNREC" and bytes_[at + 40 : at + 72] == wanted:
                bytes_[at + 192] ^= 1
                segment.write_bytes(bytes_)
                return
        self.fail("no such record")

    def check_listing(self, tier):
        answer = state_json("ls", tier)["state"]
        self.assertEqual(answer["objects"][0].keys(), answer["objects"][5].keys())
        self.assertEqual(answer["object_bytes"], sum(SIZES))
        self.assertGreater(answer["stored_bytes"], sum(SIZES))
        self.assertEqual(answer["damaged"], 0)
        rows = answer["objects"]
        self.assertEqual([(row["kind"], row["from"], row["to"]) for row in rows],
                         [("run", 0, 64), ("end", 64, 70), ("run", 64, 128), ("end", 128, 140), ("run", 0, 64),
                          ("unknown", None, None)])  # fmt: skip
        self.assertEqual([row["key"] for row in rows], [key(number) for number in (1, 4, 2, 3, 5, 6)])
        self.assertEqual([row["bytes"] for row in rows], [SIZES[i] for i in (0, 3, 1, 2, 4, 5)])
        self.assertEqual(rows[1]["state_key"], "0000000000000abc")
        self.assertEqual(rows[1]["before"], f"{65:016x}")
        models = answer["models"]
        self.assertEqual(models[0], {"state_key": "0000000000000abc", "runs": 2, "ends": 2, "longest": 140,
                                     "bytes": 1 + 701 + 1401 + 2101})  # fmt: skip
        self.assertEqual(models[1]["state_key"], "0000000000000def")

    def test_import_ls_and_export_of_a_folder_give_back_the_file(self):
        folder = self.folder()
        self.check_listing(folder)
        copy = self.scratch / "copy"
        answer = state_json("export", folder, copy)["export"]
        self.assertEqual((answer["objects"], answer["bytes"], answer["refused"]), (6, sum(SIZES), 0))
        self.assertEqual(copy.read_bytes(), ARCHIVE.read_bytes())
        again = state_json("import", folder, copy)["import"]
        self.assertEqual((again["objects"], again["already_there"]), (6, 6))

    def test_import_ls_and_export_of_a_redis_give_back_the_file(self):
        server = self.redis()
        url = f"redis://127.0.0.1:{server.port}"
        state_json("import", url, ARCHIVE)
        self.check_listing(url)
        copy = self.scratch / "copy"
        state_json("export", url, copy)
        self.assertEqual(copy.read_bytes(), ARCHIVE.read_bytes())
        self.assertEqual(len(state_json("ls", url, "--prefix", "other:")["state"]["objects"]), 0)
        self.assertEqual(len(state_json("ls", url + "/1")["state"]["objects"]), 0)

    def test_people_get_a_table_with_short_keys(self):
        run = state("ls", self.folder())
        self.assertEqual(run.returncode, 0)
        self.assertIn(key(1)[:16], run.stdout)
        self.assertNotIn(key(1), run.stdout)
        self.assertIn("0000000000000abc", run.stdout)
        self.assertIn("10,506", run.stdout)

    def test_verify_finds_a_damaged_object_of_a_folder_and_gc_removes_it_for_good(self):
        folder = self.folder()
        self.assertEqual(state_json("verify", folder)["verify"]["intact"], 6)
        self.damage_folder(folder, 4)
        for _ in range(2):  # looking changes nothing
            answer = state_json("verify", folder, code=1)["verify"]
            self.assertEqual((answer["intact"], answer["damaged"], answer["failed"]), (5, 1, 0))
            self.assertEqual([finding["what"] for finding in answer["findings"]], [key(4)])
        gc = state_json("gc", folder)["gc"]
        self.assertEqual((gc["damaged"], gc["given_up"], gc["objects"]), (1, 0, 5))
        self.assertEqual(state_json("verify", folder)["verify"]["intact"], 5)

    def test_verify_finds_a_damaged_object_of_a_redis_and_removes_it(self):
        server = self.redis()
        url = f"redis://127.0.0.1:{server.port}"
        state_json("import", url, ARCHIVE)
        server.command("SETRANGE", f"cairn:o:{key(4)}", HEADER_BYTES + 10, b"\xff\x00\xff\x00\xff\x00\xff\x00")
        answer = state_json("verify", url, code=1)["verify"]
        self.assertEqual((answer["intact"], answer["damaged"]), (5, 1))
        self.assertEqual([finding["what"] for finding in answer["findings"]], [key(4)])
        self.assertEqual(state_json("verify", url)["verify"]["intact"], 5)
        self.assertEqual(server.command("EXISTS", f"cairn:o:{key(4)}"), b":0\r\n")

    def test_damaged_objects_are_left_out_of_an_export_and_reported(self):
        folder = self.folder()
        self.damage_folder(folder, 6)
        copy = self.scratch / "copy"
        answer = state_json("export", folder, copy, code=1)["export"]
        self.assertEqual((answer["objects"], answer["refused"]), (5, 1))
        self.assertEqual(answer["findings"][0]["what"], key(6))
        self.assertEqual(state_json("import", self.scratch / "other", copy)["import"]["objects"], 5)

    def test_damaged_parts_of_a_file_are_refused_and_the_rest_is_taken(self):
        places = archive_places()
        for number, at in ((1, places[0] + 20), (3, places[2] + HEADER_BYTES + 700), (6, places[5])):
            damaged = bytearray(ARCHIVE.read_bytes())
            damaged[at] ^= 4
            path = self.scratch / f"damaged{number}"
            path.write_bytes(damaged)
            folder = self.scratch / f"tier{number}"
            answer = state_json("import", folder, path, code=1)["import"]
            self.assertEqual((answer["objects"], answer["refused"]), (5, 1))
            self.assertIn(str(path), answer["findings"][0]["what"])
            keys = {row["key"] for row in state_json("ls", folder)["state"]["objects"]}
            self.assertEqual(keys, {key(other) for other in range(1, 7)} - {key(number)})
        cut = self.scratch / "cut"
        cut.write_bytes(ARCHIVE.read_bytes()[: places[4] + 50])
        answer = state_json("import", self.scratch / "tier", cut, code=1)["import"]
        self.assertEqual(answer["objects"], 4)

    def test_gc_of_a_redis_keeps_the_newest_within_the_bytes(self):
        server = self.redis()
        url = f"redis://127.0.0.1:{server.port}"
        state_json("import", url, ARCHIVE)
        before = state_json("ls", url)["state"]["stored_bytes"]
        gc = state_json("gc", url, "--keep-bytes", "5KiB")["gc"]
        self.assertLessEqual(gc["stored_bytes"], 5 * 1024)
        self.assertGreater(gc["objects"], 0)
        self.assertEqual(gc["given_up"], 6 - gc["objects"])
        self.assertEqual(gc["freed_bytes"], before - gc["stored_bytes"])
        self.assertEqual(state_json("gc", url, "--keep-bytes", 0)["gc"]["objects"], 0)
        self.assertEqual(server.command("EXISTS", f"cairn:o:{key(6)}"), b":0\r\n")

    def test_gc_of_a_folder_gives_up_objects_when_they_are_too_many(self):
        folder = self.folder()
        more = self.scratch / "more"
        more.write_bytes(archive_of({number: os.urandom(500_000) for number in range(100, 160)}))
        self.assertEqual(state_json("import", folder, more)["import"]["objects"], 60)
        before = sum(path.stat().st_size for path in folder.glob("segment-*"))
        gc = state_json("gc", folder, "--keep-bytes", "24MiB")["gc"]
        after = sum(path.stat().st_size for path in folder.glob("segment-*"))
        self.assertLessEqual(after, 24 << 20)
        self.assertEqual(gc["freed_bytes"], before - after)
        self.assertEqual(gc["given_up"], 66 - gc["objects"])
        self.assertGreater(gc["objects"], 20)
        self.assertEqual(state_json("verify", folder)["verify"]["intact"], gc["objects"])

    def test_gc_of_a_folder_brings_its_files_under_the_bytes(self):
        folder = self.folder()
        gc = state_json("gc", folder, "--keep-bytes", "1MiB")["gc"]
        size = sum(path.stat().st_size for path in folder.glob("segment-*"))
        self.assertLessEqual(size, 1 << 20)
        self.assertEqual(gc["stored_bytes"], size)
        self.assertEqual(state_json("ls", folder)["state"]["stored_bytes"], size)
        self.assertEqual(len(state_json("ls", folder)["state"]["objects"]), gc["objects"])
        self.assertEqual(state_json("verify", folder)["verify"]["intact"], gc["objects"])
        small = state("gc", folder, "--keep-bytes", "1000")
        self.assertEqual(small.returncode, 2)
        self.assertIn("1048576", small.stderr)

    def test_what_is_no_tier_is_refused_on_one_line_and_left_alone(self):
        empty = self.scratch / "empty"
        empty.mkdir()
        (self.scratch / "notes").mkdir()
        (self.scratch / "notes" / "a.txt").write_text("mine")
        noise = self.scratch / "noise"
        noise.write_bytes(os.urandom(5000))
        url = "redis://user:secret@127.0.0.1:1"
        for code, arguments in ((2, ("ls", self.scratch / "absent")), (2, ("ls", empty)), (2, ("gc", noise)),
                                (2, ("verify", self.scratch / "notes")),
                                (2, ("import", self.scratch / "notes", ARCHIVE)),
                                (2, ("import", self.scratch / "new", noise)),
                                (2, ("import", self.scratch / "new", self.scratch / "absent")),
                                (2, ("ls", "redis://")), (2, ("ls", "rediss://host")), (1, ("ls", url)),
                                (2, ("export", self.folder(), empty)), (2, ()), (2, ("ls",)),
                                (2, ("gc", self.scratch / "tier", "--keep-bytes", "-1")),
                                (2, ("gc", self.scratch / "tier", "--keep-bytes", "much"))):  # fmt: skip
            with self.subTest(arguments=arguments):
                run = state(*arguments)
                self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (code, "", 1), run.stderr)
                self.assertNotIn("secret", run.stderr)
        self.assertEqual(list(empty.iterdir()), [])
        self.assertFalse((self.scratch / "new").exists())
        self.assertFalse((self.scratch / "absent").exists())


if __name__ == "__main__":
    unittest.main()

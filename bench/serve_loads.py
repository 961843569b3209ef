"""The requests of bench/serve's rows: token ids that are words of text, the same for every server."""

import random

import serve_client

WORDS = ("the river runs past old stone houses and a boat waits under quiet trees while rain begins to fall on hills where "
         "people walk home with bread lamps letters baskets of apples an answer comes late in spring after long winter").split()  # fmt: skip


class Texts:
    """Token ids of seeded words, by a server's own tokenizer."""

    def __init__(self, port):
        self._port = port
        both = [self._tokenize("the", special) for special in (True, False)]
        self._first = both[0][: len(both[0]) - len(both[1])]  # what the model wants in front of a text

    def _tokenize(self, text, special):
        status, found = serve_client.get_json(self._port, "/tokenize", {"content": text, "add_special": special})
        assert status == 200, found
        return found["tokens"]

    def words(self, seed, count):
        """`count` tokens, in whole words but for the last one."""
        text = " " + " ".join(random.Random(seed).choices(WORDS, k=count))
        ids = self._tokenize(text, False)
        assert len(ids) >= count
        return ids[:count]

    def start(self, seed, count):
        return (self._first + self.words(seed, count))[:count]


def completion(ids, answer, stream=True, **more):
    """A greedy answer of exactly so many tokens."""
    body = {"prompt": ids, "max_tokens": answer, "temperature": 0, "ignore_eos": True, **more}
    return body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})


def shared_prefix(texts, sizes):
    """A list of requests for each user."""
    system = texts.start("system", sizes.system)
    return [[completion(system + texts.words(f"question {user}", sizes.question), sizes.answer)]
            for user in range(sizes.users)]  # fmt: skip


def short_users(texts, sizes):
    return [[completion(texts.start(f"short {user} {turn}", sizes.question), sizes.answer)
             for turn in range(sizes.short_requests)] for user in range(sizes.short_users)]  # fmt: skip


def arrival(texts, sizes):
    """The streams, and the long prompt as the last user."""
    streams = [[completion(texts.start(f"stream {user}", sizes.question), sizes.stream_answer)]
               for user in range(sizes.streams)]  # fmt: skip
    return [*streams, [completion(texts.start("arriving", sizes.arriving), 8)]]

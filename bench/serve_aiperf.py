"""AIPerf, a load generator that others use, on `cairn serve`: a closed loop of streamed chats, and its own summary of it."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import peers
import serve_rows
import serve_servers
import versus_results as results

CONCURRENCY, REQUESTS, PROMPT, ANSWER = 8, 64, 256, 64
QUICK_REQUESTS = 8
CONTEXT = 2048
LIMIT_S = 1200
# What of its summary goes into the row.
KEPT = ("request_throughput", "output_token_throughput", "time_to_first_token", "inter_token_latency", "request_latency",
        "request_count", "error_request_count")  # fmt: skip


def gguf_reader():
    sys.path.insert(0, str(peers.ROOT / "build" / "python"))
    try:
        import gguf
    except ImportError as error:
        raise peers.fetch.Failure("PyPI's gguf isn't in build/python; run `make python-packages`") from error
    return gguf


def write_tokenizer(model, folder):
    """A folder that Hugging Face's library can open: AIPerf makes its prompts with it. Counts of tokens are the server's."""
    reader = gguf_reader().GGUFReader(model)
    field = lambda name: reader.get_field(f"tokenizer.ggml.{name}").contents()  # noqa: E731
    tokens, kinds = field("tokens"), field("token_type")
    special = [{"id": number, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True} for number, (token, kind) in enumerate(zip(tokens, kinds)) if kind == 3]  # fmt: skip
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    merges = [merge.split(" ", 1) for merge in field("merges")]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: number for number, token in enumerate(tokens)}, "merges": merges}}))  # fmt: skip
    end = tokens[field("eos_token_id")]
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end, "bos_token": end, "clean_up_tokenization_spaces": False}))  # fmt: skip
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))


def run(aiperf, port, name, tokenizer, artifacts, requests):
    """(its summary, the command)."""
    command = [aiperf.program, "profile", "--model", name, "--url", f"http://127.0.0.1:{port}", "--endpoint-type", "chat",
               "--streaming", "--tokenizer", tokenizer, "--use-server-token-count", "--concurrency", CONCURRENCY,
               "--request-count", requests, "--synthetic-input-tokens-mean", PROMPT, "--output-tokens-mean", ANSWER,
               "--extra-inputs", "ignore_eos:true", "--extra-inputs", "temperature:0", "--random-seed", 1,
               "--ui", "none", "--artifact-dir", artifacts]  # fmt: skip
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    summaries = list(artifacts.rglob("profile_export_aiperf.json"))
    if done.returncode != 0 or not summaries:
        raise peers.fetch.Failure(f"aiperf ended with code {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(summaries[0].read_text()), command


def measure(options, say):
    aiperf = peers.AiPerf(options.peers.resolve())
    aiperf.ensure(say)
    model = peers.ROOT / "models" / serve_rows.MODELS["smollm2"]
    requests = QUICK_REQUESTS if options.quick else REQUESTS
    machine = results.machine()
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer, artifacts = pathlib.Path(scratch) / "tokenizer", pathlib.Path(scratch) / "artifacts"
        tokenizer.mkdir()
        write_tokenizer(model, tokenizer)
        with serve_servers.Cairn(options.cairn, options.threads).start(model, CONTEXT) as server:
            summary, command = run(aiperf, server.port, model.stem, tokenizer, artifacts, requests)
            server_command, engine = server.command, server.state()["engine"]
    errors = (summary.get("error_request_count") or {}).get("avg", 0)
    served = (summary.get("request_count") or {}).get("avg", 0)
    row = serve_rows.Row("aiperf", f"AIPerf, {requests} chats by {CONCURRENCY} at once: errors", "requests", 0)
    return [{"name": f"smollm2 {row.name}", "key": row.key, "model": model.name, "value": errors, "unit": row.unit,
             "target": row.target, "better": row.better, "met": errors == 0 and served == requests and engine["failed"] == 0,
             "threads": options.threads, "versions": options.versions | {"aiperf": str(aiperf)}, "machine": machine,
             "measured_at": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
             "commands": {"cairn": " ".join(server_command), "aiperf": " ".join(command)},
             "summary": {name: summary[name] for name in KEPT if name in summary}}]  # fmt: skip

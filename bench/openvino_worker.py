"""openvino_worker.py MODEL THREADS: OpenVINO GenAI, measured on request like llamacpp_worker.cc, from an
empty state. Runs in the virtual environment that peers.OpenVino makes.

A prompt's time is that to its first token. An answer's is the mean time per token after the first, for as
many tokens as were asked for. Both are the library's own perf_metrics.
"""

import json
import sys

import numpy
import openvino
import openvino_genai

VOCABULARY = 32000  # tokens are drawn below this: no special ones


def generate(pipeline, prompt, new_tokens):
    ids = numpy.random.randint(100, VOCABULARY, (1, prompt)).astype(numpy.int64)
    tokens = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = new_tokens
    config.ignore_eos = True
    return pipeline.generate(tokens, config).perf_metrics


def nanoseconds_for(pipeline, line):
    words = line.split()
    asked = dict(zip(words[::2], map(int, words[1::2])))
    if asked.keys() == {"prompt"}:
        return round(generate(pipeline, asked["prompt"], 1).get_ttft().mean * 1e6)
    if asked.keys() == {"answer"}:
        return round(generate(pipeline, 1, asked["answer"] + 1).get_tpot().mean * 1e6) * asked["answer"]
    raise ValueError("only `prompt N` and `answer N` are measured")


def main():
    pipeline = openvino_genai.LLMPipeline(sys.argv[1], "CPU", INFERENCE_NUM_THREADS=int(sys.argv[2]))
    warm = set()
    for line in sys.stdin:
        try:
            if line not in warm:
                nanoseconds_for(pipeline, line)
                warm.add(line)
            answer = {"ns": nanoseconds_for(pipeline, line)}
        except (ValueError, RuntimeError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

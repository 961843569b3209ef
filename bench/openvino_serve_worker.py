"""openvino_serve_worker.py MODEL THREADS CACHE_GIB: OpenVINO GenAI with continuous batching and its prefix cache, in process.

Each line on the standard input is JSON: {"prompts": [[token, ...], ...], "answer": tokens}. All prompts, of one length, are
asked at once, each is answered greedily with so many tokens, and the answer is {"seconds": ...}. Runs in the virtual
environment that peers.OpenVino makes.
"""

import json
import sys
import time

import numpy
import openvino
import openvino_genai


def make_pipeline(model, threads, cache_gib):
    scheduler = openvino_genai.SchedulerConfig()
    scheduler.cache_size = cache_gib
    scheduler.enable_prefix_caching = True
    scheduler.max_num_seqs = 64
    return openvino_genai.LLMPipeline(model, "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=threads)


def seconds_for(pipeline, prompts, answer):
    ids = numpy.array(prompts, dtype=numpy.int64)
    tokens = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = answer
    config.ignore_eos = True
    start = time.perf_counter()
    result = pipeline.generate(tokens, config)
    seconds = time.perf_counter() - start
    made = [len(each) for each in result.tokens]
    if made != [answer] * len(prompts):
        raise ValueError(f"{made} tokens were generated, not {answer} for each of {len(prompts)}")
    return seconds


def main():
    pipeline = make_pipeline(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"seconds": seconds_for(pipeline, asked["prompts"], asked["answer"])}
        except (ValueError, RuntimeError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""An agent that tries several ways at once: a search over forks of one context of `cairn serve`.

    cairn serve -m MODEL
    python3 examples/best_of_n.py [--url http://127.0.0.1:8080] [--branches 4] [--rounds 3]

It plays the numbers game: make the target from the given numbers with + - * and brackets. A long instruction is read once, as a
context. In each round the best context is forked, each fork proposes an expression in its own way and a calculator (the tool) says what
it gives; the fork that came nearest goes on, the others are released. At the end it tells what the forks have shared.

Needs the package `openai`, and nothing else. Any model will do; a small one plays badly.
"""

import argparse
import ast
import concurrent.futures
import json
import operator
import sys

import openai

RULES = """You play the numbers game. You get some numbers and a target. You write one arithmetic expression whose value comes as
near to the target as you can make it.

The rules:
1. Use only the given numbers. Each may be used once, or not at all. There are no other numbers.
2. The operators are plus (+), minus (-) and times (*). There is no division, no power and no function.
3. Brackets may stand wherever they help.
4. The expression is a single line without words, units, an equals sign or the target itself.
5. After each expression a calculator tells you its value and how far that is from the target. Use this: when the value is too small,
   multiply by a larger number or add one that is left; when it is too large, subtract one that is left or choose smaller factors.
6. Never repeat an expression that the calculator has already seen.

Three examples of good play:
The numbers are 2, 5, 10 and the target is 52. The expression 10 * 5 + 2 gives 52, which is exact.
The numbers are 3, 4, 25 and the target is 88. The expression 25 * 4 - 3 gives 97, too large by 9. The expression 25 * 3 + 4 gives 79,
too small by 9. Both are equally near; either may stand.
The numbers are 7, 8, 9, 50 and the target is 471. The expression 50 * 9 + 8 + 7 gives 465. The expression (50 + 9) * 8 gives 472, nearer
by five.

You answer with a JSON object that has the expression, such as {"expression": "10 * 5 + 2"}, and nothing else.
"""
APPROACHES = ("Begin with the product of the two largest numbers.", "Begin with a sum in brackets, and multiply it.",
              "Use as few numbers as you can.", "Use all the numbers.", "Begin with the largest number times the smallest.",
              "Go a little beyond the target, and subtract.", "Stay a little below the target, and add.", "Surprise me.")
ANSWER = {"type": "json_schema", "json_schema": {"name": "move", "schema": {
    "type": "object", "properties": {"expression": {"type": "string", "maxLength": 60}},
    "required": ["expression"], "additionalProperties": False}}}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def calculate(expression, numbers):
    """The tool: (value, None), or (None, what is wrong)."""
    left = list(numbers)

    def value_of(node):
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in left:
            left.remove(node.value)
            return node.value
        raise ValueError("only the given numbers, each once, with + - * and brackets")

    try:
        return value_of(ast.parse(expression.strip(), mode="eval").body), None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return None, problem.args[0]


class Contexts:
    """Cairn's contexts, through openai's client: it sends to any path."""

    def __init__(self, client):
        self.client = client

    def make(self, messages, **options):
        return self.client.post("/contexts", body={"messages": messages, **options}, cast_to=object)

    def show(self, context):
        return self.client.get(f"/contexts/{context}", cast_to=object)

    def fork(self, context, n):
        return self.client.post(f"/contexts/{context}/fork", body={"n": n}, cast_to=object)["data"]

    def release(self, context):
        return self.client.delete(f"/contexts/{context}", body={"forget": True}, cast_to=object)


class Search:
    def __init__(self, url, key, numbers, target):
        self.client = openai.OpenAI(base_url=url.rstrip("/") + "/v1", api_key=key, max_retries=0, timeout=600)
        self.contexts = Contexts(self.client)
        self.numbers, self.target = numbers, target
        self.asked = self.cached = 0

    def move(self, context, said, approach, seed):
        """Lets a fork answer, and the tool look at it: (distance, expression, what the tool says, context)."""
        answer = self.client.chat.completions.create(
            model="any", messages=[{"role": "user", "content": f"{said} {approach}".strip()}], response_format=ANSWER, max_tokens=60,
            seed=seed, temperature=0.9, extra_body={"context": context, "context_append": True})
        self.asked += answer.usage.prompt_tokens
        self.cached += answer.usage.prompt_tokens_details.cached_tokens
        try:
            expression = json.loads(answer.choices[0].message.content)["expression"]
        except ValueError:  # it was cut at max_tokens
            expression = answer.choices[0].message.content
        value, problem = calculate(expression, self.numbers)
        if problem:
            return float("inf"), expression, f"The calculator refuses {expression!r}: {problem}.", context
        distance = abs(value - self.target)
        return distance, expression, f"The calculator says {expression} = {value}, which is off by {distance}.", context

    def round(self, best, said, branches, seed):
        """Forks the best context and returns the moves of its forks, the best first."""
        forks = [fork["id"] for fork in self.contexts.fork(best, branches)]
        with concurrent.futures.ThreadPoolExecutor(branches) as pool:
            moves = list(pool.map(lambda i: self.move(forks[i], said, APPROACHES[i % len(APPROACHES)], seed + i), range(branches)))
        return sorted(moves, key=lambda move: move[0])

    def run(self, branches, rounds):
        task = f"The numbers are {', '.join(map(str, self.numbers))} and the target is {self.target}."
        root = self.contexts.make([{"role": "user", "content": RULES + "\n" + task},
                                   {"role": "assistant", "content": "I am ready."}], pin=True)
        print(f"the instruction: {root['tokens']} tokens, read once, {root['pinned_bytes']:,} bytes of state")
        best, said, held = root["id"], "Go.", []
        for number in range(rounds):
            moves = self.round(best, said, branches, seed=1000 * number)
            distance, expression, said, winner = moves[0]
            shown = [self.contexts.show(move[3]) for move in moves]
            own = sum(each["own_pinned_bytes"] for each in shown)
            alone = sum(each["pinned_bytes"] for each in shown)
            print(f"round {number + 1}: {branches} forks took {own:,} bytes of their own; without sharing they would take {alone:,}")
            for move in moves:
                print(f"    {'off by ' + str(move[0]) if move[0] < float('inf') else 'refused':>12}  {move[1]}")
            for _, _, _, other in moves[1:]:
                self.contexts.release(other)
            held.append(best)
            best = winner
            if distance == 0:
                break
        print(f"the best: {expression}")
        print(f"tokens of prompts: {self.asked:,}, of which {self.cached:,} ({100 * self.cached / self.asked:.1f} %) were at hand")
        for context in (*held, best):
            self.contexts.release(context)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--key", default="none", help="an API key, if the server wants one")
    parser.add_argument("--branches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--numbers", type=int, nargs="+", default=[3, 7, 8, 25, 50])
    parser.add_argument("--target", type=int, default=431)
    args = parser.parse_args()
    try:
        Search(args.url, args.key, args.numbers, args.target).run(args.branches, args.rounds)
    except openai.OpenAIError as problem:
        sys.exit(f"{args.url}: {problem}")


if __name__ == "__main__":
    main()

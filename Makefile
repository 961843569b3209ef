# The commands of the project. Each installs what it needs and this machine lacks.
#   make run      build, bring two small models, and let one answer a question
#   make test     build and run all tests
#   make build    the program alone: build/cairn
#   make models   the two models alone: models/*.gguf
#   make bench    speed beside llama.cpp, some minutes (ROWS=: all targets, some hours)
#   make format   clang-format on every C++ file
#   make tidy     clang-tidy on the changed files (ALL=1: on all; BASE=commit: changed since then)
MODEL ?= models/SmolLM2-135M-Instruct.Q4_1.gguf
PROMPT ?= Why is the sky blue?
ROWS ?= (pp512|tg64) f16 t. vs llama
SHELL := /bin/bash

.PHONY: run test build models tokenizers python-packages bench format tidy install install-test clean

run: build models
	build/cairn run -m "$(MODEL)" --chat -p "$(PROMPT)" -n 64

test: install-test models tokenizers python-packages
	python3 scripts/test.py

build: install
	scripts/build.sh release cairn
	ln -sfn release/cairn build/cairn

models: install
	python3 scripts/models.py

tokenizers: install-test
	python3 scripts/tokenizers.py

python-packages: install-test
	python3 scripts/python_packages.py

bench: build models
	python3 bench/versus --only '$(ROWS)'

format: install-test
	git ls-files --cached --others --exclude-standard '*.h' '*.cc' | xargs clang-format-19 -i

tidy: install-test
	scripts/clang_tidy.sh

install:
	@scripts/install.sh build

install-test:
	@scripts/install.sh test

clean:
	rm -rf build

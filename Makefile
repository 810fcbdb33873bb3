# One short name for each habit; .ci/run calls the same names.
.PHONY: setup demo audit reference test test-all test-fast lint lint-python lint-engine format golden lock replications bench-engine bench-memory bench-compare calibrate bench-design bench-bias bench-limits bench-reasons bench-tuning bench-counted bench-awake bench-fleet bench-kills bench-cuts bench-equals bench-flood bench-page bench-repeats stale pictures docs

PYTHON := .venv/bin/python
DEV := .venv/dev.sum
DOCS := .venv-docs

# What Python compiles is kept in .venv: where nothing is kept, each run compiles them anew, each worker another part first.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/pycache

setup: $(DEV)
	@./fairground --version

demo:
	./fairground demo

test: setup                      ## every path once, servers and browser included: two tests at a time, and a third that stands back
	$(PYTHON) -m pytest -n 3 -m 'not nightly' --durations=25

test-all: export HYPOTHESIS_PROFILE := night
test-all: test                   ## and what takes long or must be alone on the machine, one test at a time
	$(PYTHON) -m pytest -m nightly --durations=25

test-fast: setup                 ## only what starts nothing
	$(PYTHON) -m pytest -n logical -m 'not live and not nightly'

lint: lint-python lint-engine

lint-python: setup
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy

lint-engine: setup
	cd engine && cargo fmt --check && cargo clippy --quiet --release --locked --all-targets -- -D warnings

audit:                           ## known holes in what the project uses, by the audits that are installed; the others are named
	packaging/audit.sh

format: setup
	$(PYTHON) -m ruff check --fix --quiet
	$(PYTHON) -m ruff format
	cd engine && cargo fmt

golden: setup                    ## rewrite the expected texts of the tests
	FAIRGROUND_GOLDEN=write $(PYTHON) -m pytest -q -m 'not live and not nightly'

bench-engine: setup              ## what the load engine costs, beside other generators: measures, asserts nothing
	$(PYTHON) bench/engine.py

replications: setup              ## the five published benchmarks, their quick profiles, into docs/replications.md: about an hour
	./fairground replicate all --quiet --markdown docs/replications.md
	$(PYTHON) bench/stale.py --measured docs/replications.md

stale: setup                     ## write at the top of each page of numbers what it is of, and whether that has changed since
	$(PYTHON) bench/stale.py

bench-memory: setup              ## how much memory the load engine needs: measures, asserts nothing
	$(PYTHON) bench/memory.py

calibrate: setup                 ## what the validity checks read where nothing is wrong, beside their thresholds: about nine minutes
	$(PYTHON) bench/calibrate.py --write docs/evidence.md

bench-compare: setup             ## how often `compare` calls a difference that is none, or planted: make bench-compare STACK=SERVER:ONE
	$(PYTHON) bench/compare.py --stack $(STACK) --keep results/bench-compare.jsonl --write docs/evidence.md

bench-equals: setup             ## how often a run calls equal stacks different, into docs/evidence.md: make bench-equals STACK=SERVER:ONE
	$(PYTHON) bench/equals.py --stack $(STACK) --keep results/bench-equals.jsonl --write docs/evidence.md

bench-design: setup              ## windows in turns against whole trials, into docs/evidence.md: make bench-design STACK=SERVER:ONE
	$(PYTHON) bench/design.py --stack $(STACK) --keep results/bench-design.jsonl --write docs/evidence.md

bench-bias: setup                ## whether turns give what windows without breaks give, into docs/evidence.md: about 25 minutes
	$(PYTHON) bench/bias.py --keep results/bench-bias.jsonl --write docs/evidence.md

bench-limits: setup              ## how often a planted limit is named, and no other, in shared seats and in seats apart, into docs/evidence.md: about 40 minutes
	$(PYTHON) bench/limits.py --write docs/evidence.md

bench-reasons: setup            ## the experiment on each planted limit and on wrong reasons, into docs/evidence.md: about 45 minutes, and in parts
	$(PYTHON) bench/reasons.py --keep results/bench-reasons.jsonl --write docs/evidence.md

bench-tuning: setup              ## what each tuned variant gains over the documented one, into docs/tuning.md: hours, and in parts of BUDGET=30m
	$(PYTHON) bench/tuning.py $(if $(BUDGET),--budget $(BUDGET)) --keep docs/tuning.jsonl --write docs/tuning.md

bench-counted: setup             ## instructions and system calls for an answer of each documented stack, into docs/counted.md: hours, and in parts of BUDGET=30m
	$(PYTHON) bench/counted.py $(if $(BUDGET),--budget $(BUDGET)) --keep docs/counted.jsonl --write docs/counted.md

bench-awake: setup               ## what keeping processors awake changes here, into docs/evidence.md: make bench-awake STACK=SERVER:ONE
	$(PYTHON) bench/awake.py --stack $(STACK) --write docs/evidence.md

bench-flood: setup               ## what a flood of requests to `serve` does to a run beside it, into docs/evidence.md: make bench-flood STACK=SERVER:ONE
	$(PYTHON) bench/flood.py --stack $(STACK) --keep results/bench-flood.jsonl --write docs/evidence.md

bench-page: setup                ## size, first paint and keys of the page of a whole lab, into docs/evidence.md: measures no server, a minute
	$(PYTHON) bench/page.py --write docs/evidence.md

bench-repeats: setup             ## how often two simulated runs give a claim the same verdict, into docs/evidence.md: measures nothing, three minutes
	$(PYTHON) bench/repeats.py --pairs 60 --write docs/evidence.md

bench-fleet: setup               ## how made-up hosts share a plan out, and what that costs the lab: measures no server, about a minute
	$(PYTHON) bench/fleets.py

bench-cuts: setup               ## hosts of a fleet that are lost at fifty random moments, into docs/hosts.md: about half an hour, and in parts
	$(PYTHON) bench/cuts.py --keep results/bench-cuts.jsonl --write docs/hosts.md

bench-kills: setup               ## what `kill -9` leaves behind at ten moments of each measuring verb: about twenty minutes
	$(PYTHON) bench/kills.py

lock: setup                      ## resolve the requirements anew
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url requirements.in -o requirements.lock
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url requirements-dev.in -o requirements-dev.lock
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url requirements-docs.in -o requirements-docs.lock

$(DEV): requirements.lock requirements-dev.lock
	@./fairground --version >/dev/null
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $(DEV)

reference: setup                 ## the tables of docs/reference, from the tables that the lab works with
	$(PYTHON) bench/reference_pages.py

docs: $(DOCS)/docs.sum           ## the manual as a site, into site/
	$(DOCS)/bin/python -m mkdocs build --quiet --strict

$(DOCS)/docs.sum: requirements-docs.lock
	python3 -m venv --clear $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

pictures: setup                  ## README's and docs/pictures' pictures of a stored run, to be looked at: make pictures RUN=ID
	$(PYTHON) bench/pictures.py --run $(RUN)

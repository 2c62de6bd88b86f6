# Short names for the superbuild (CMakeLists.txt) and what surrounds it.
# Variables: JOBS, PRESET, PATCH, PREFIX, DESTDIR, UPSTREAM_TARBALL, UPSTREAM_SHA256.

ifneq ($(words $(CURDIR)),1)
$(error This checkout lies at '$(CURDIR)', and upstream cannot be built where a path \
  has a space: move or clone it elsewhere)
endif

SHELL := /bin/bash
JOBS ?= $(shell nproc)
PRESET ?= debug
PREFIX ?= /usr/local/sluice
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export UPSTREAM_SHA256
# Relative to where make was called; the build goes to folders of its own.
absolute = $(if $(1),$(shell realpath --canonicalize-missing -- '$(1)'))
override UPSTREAM_TARBALL := $(call absolute,$(UPSTREAM_TARBALL))
override UPSTREAM_PIN := $(call absolute,$(UPSTREAM_PIN))
export UPSTREAM_TARBALL UPSTREAM_PIN

PATCHES = superbuild/patches.py
TREES = build/upstream build/tree
build = cmake --preset $(1) >/dev/null && superbuild/progress.py cmake --build --preset $(1)

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r target does; do \
	  printf '  make %-21s %s\n' "$$target" "$$does"; done

.PHONY: run run-counters monitor stop
run: PRESET = release
run: export SLUICE_TARGETS = mysqld mysql lru_stats GenError
run: ## Build, start a server, run a load and show pages moving through the LRU
	@superbuild/plan.sh run $(PRESET)
	@superbuild/dependencies.sh
	@superbuild/as-user.sh --check
	@$(call build,$(PRESET))
	@PRESET=$(PRESET) demo/run.sh

run-counters: ## Every LRU counter before and after the load of the last make run
	@demo/run.sh --all

monitor: PRESET = release
monitor: ## The same server with Prometheus, its exporter and the dashboard, from Debian packages (PICTURE=file.png)
	@PICTURE='$(call absolute,$(PICTURE))' demo/monitor.sh --check
	@superbuild/plan.sh run $(PRESET)
	@superbuild/dependencies.sh
	@superbuild/as-user.sh --check
	@$(call build,$(PRESET))
	@PRESET=$(PRESET) PICTURE='$(call absolute,$(PICTURE))' demo/monitor.sh

stop: ## Stop the server that make run or make monitor left running
	@demo/stop.sh

.PHONY: test test-long test-mutations
# What fails for want of a network, of disk or of a permission fails before the build.
prepare_test = superbuild/plan.sh test $(PRESET) && superbuild/dependencies.sh && \
  superbuild/as-user.sh --check && $(MAKE) --no-print-directory $(VENV)/complete && \
  $(call build,$(PRESET))

test: ## Build the debug preset (PRESET=asan or tsan: that one), run our suites and the guard list
	@$(prepare_test)
	@PRESET=$(PRESET) superbuild/test.sh

test-long: ## Run the loops that are too long for make test (two to five minutes each)
	@$(prepare_test)
	@PRESET=$(PRESET) superbuild/test.sh --big-test binlog_purge_crash.binlog_purge_night lru_flusher.kill_night \
	  lru_stats.index_stats_many

test-mutations: ## Break each feature on purpose: does a test notice? (SUITE=name, AGAIN=1: also what was caught, MINUTES=; goes on where it stopped)
	@$(prepare_test)
	@superbuild/mutations.py --preset $(PRESET) $(if $(SUITE),--suite $(SUITE)) $(if $(AGAIN),--again) \
	  $(if $(filter-out file,$(origin MINUTES)),--minutes $(MINUTES))

.PHONY: upstream-tests upstream-tests-table
upstream-tests: ## Run upstream's own suites (PRESET=debug|stock-debug SUITES= ON=1: all switches on, MINUTES=, AGAIN=1: what failed; goes on where it stopped)
	@superbuild/upstream_tests.py run --preset $(PRESET) $(if $(ON),--on) $(if $(AGAIN),--again) \
	  $(if $(filter-out file,$(origin MINUTES)),--minutes $(MINUTES)) \
	  $(if $(filter-out file,$(origin SUITES)),$(SUITES))

upstream-tests-table: ## Compare what was run: test, stock, ours, why they differ
	@superbuild/upstream_tests.py table

.PHONY: stress-gate stress-ddl stress-disk stress-faults stress-scale
stress-gate: ## Stress the lock-free parts of page I/O alone, under TSAN and ASAN (SECONDS=60 each)
	@superbuild/stress/gate.sh $(SECONDS)

.PHONY: bench bench-report bench-keep bench-test superbuild-test
VENV = build/bench/venv
$(VENV)/complete: bench/requirements.txt
	@superbuild/venv.sh $(VENV) $<

MINUTES ?= 30
stress-ddl: $(VENV)/complete ## DDL of all kinds beside page I/O, rows checked (PRESET=debug|asan|tsan, MINUTES=30, KILL=1: kill -9)
	@$(VENV)/bin/python superbuild/stress/ddl.py --preset $(PRESET) --minutes $(MINUTES) $(if $(KILL),--kill)

stress-disk: $(VENV)/complete ## A disk that fills or fails, threads that cannot be had, rows checked (PRESET=debug|asan|release|stock FAULTS=full,write,sync,threads,submit; root, mounts a tmpfs)
	@$(VENV)/bin/python superbuild/stress/disk.py --preset $(PRESET) $(call given,FAULTS)

stress-faults: $(VENV)/complete ## System calls of a purge that fail, files and rows checked (PRESET=debug|asan|release; needs strace)
	@$(VENV)/bin/python superbuild/stress/faults.py --preset $(PRESET)

stress-scale: $(VENV)/complete ## 1 TB of binary logs, 20 000 tables, 10 000 connections (PRESET=debug|asan|release|stock ONLY=logs,tables,connections LOGS= TABLES= CONNECTIONS= SECONDS= TIMEOUT=)
	@$(VENV)/bin/python superbuild/stress/scale.py --preset $(PRESET) $(call given,ONLY LOGS TABLES CONNECTIONS SECONDS TIMEOUT)

RECORDER = build/powercut/recorder
$(RECORDER): superbuild/powercut/recorder.cc
	@mkdir -p $(@D)
	@$${CXX:-c++} -std=c++20 -O2 -g -Wall -Wextra $$(pkg-config --cflags fuse3) -o $@ $< -lfuse3 -pthread

.PHONY: power-cuts power-cut-mutants power-cuts-short power-cut-again power-cuts-test
ROUNDS ?= 2000
SEED ?= 1
power_cuts = nice -n 15 $(VENV)/bin/python superbuild/powercut/rig.py

power-cuts: $(VENV)/complete $(RECORDER) ## Cut a server's power (ROUNDS=2000 SEED=1 PRESET=debug|release|stock MATRIX=a,b MODE=ordered|posix MINUTES= RUN=; goes on where it stopped)
	@$(power_cuts) run --preset $(PRESET) --rounds $(ROUNDS) --seed $(SEED) $(if $(RUN),--run $(RUN)) \
	  $(if $(MATRIX),--matrix $(MATRIX)) $(if $(MODE),--mode $(MODE)) $(if $(KEEP),--keep) \
	  $(if $(filter-out file,$(origin MINUTES)),--minutes $(MINUTES))

power-cut-mutants: $(VENV)/complete $(RECORDER) ## The same with syncs left out: each must be found (PRESET= SEED= MATRIX=)
	@$(power_cuts) mutants --cuts 200 --preset $(PRESET) --seed $(SEED) --run $(if $(RUN),$(RUN),mutants) \
	  $(if $(MATRIX),--matrix "$(MATRIX)")

rig_tests = PRESET=$(PRESET) $(VENV)/bin/python -m pytest --quiet -p no:cacheprovider \
  $(if $(JUNIT),--junitxml=$(JUNIT)) superbuild/powercut/tests $(if $(1),-k "test_fuse or $(1)")

power-cuts-short: $(VENV)/complete $(RECORDER) ## Some power cuts, and two syncs left out (PRESET=; a part of make test)
	@$(call rig_tests,test_power)

power-cut-again: $(VENV)/complete $(RECORDER) ## Make the round again that left the folder FAILURE=
	@$(power_cuts) again $(if $(FAILURE),'$(FAILURE)')

power-cuts-test: $(VENV)/complete $(RECORDER) ## Does the rig find toy programs that do not sync, and no others?
	@$(call rig_tests,test_rig)

.PHONY: kills kills-short power-tests
kills: $(VENV)/complete ## Kill servers under load (ROUNDS=1000 kills of each settings, SEED=, PRESET=, MATRIX=, MINUTES=; goes on where it stopped)
	@nice -n 15 $(VENV)/bin/python superbuild/powercut/kills.py run --preset $(PRESET) --seed $(SEED) \
	  --rounds $(if $(filter file,$(origin ROUNDS)),1000,$(ROUNDS)) $(if $(RUN),--run $(RUN)) \
	  $(if $(MATRIX),--matrix "$(MATRIX)") $(if $(filter-out file,$(origin MINUTES)),--minutes $(MINUTES))

kills-short: $(VENV)/complete ## Some kills (PRESET=; a part of make test)
	@$(call rig_tests,test_kills)

power-tests: $(VENV)/complete $(RECORDER) ## What make test runs of these: power-cuts-test, power-cuts-short, kills-short
	@$(call rig_tests,)

SERVERS ?= stock sluice
harness = cd bench && ../$(VENV)/bin/python -m harness

bench: $(VENV)/complete ## Measure servers side by side (SCENARIO= SERVERS= QUICK=1 ..., bench/README.md)
	@$(harness) run --servers $(SERVERS) $(if $(SCENARIO),--scenarios $(SCENARIO)) \
	  $(if $(filter-out file,$(origin ROUNDS)),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) \
	  $(if $(VARIANT),--variant $(VARIANT)) $(if $(QUICK),--quick) $(if $(KEEP),--keep-data) \
	  $(if $(WIDTH),--width $(WIDTH)) $(if $(filter-out file,$(origin MINUTES)),--minutes $(MINUTES)) \
	  $(if $(RUN),--run $(RUN)) $(if $(RESUME),--resume)

bench-report: $(VENV)/complete ## Draw the report of a run again (RUN=name, or docs/results/name; the newest without)
	@$(harness) report $(if $(RUN),--run $(RUN))

bench-keep: $(VENV)/complete ## Put into docs/results what is committed of a run (RUN=name)
	@$(harness) keep --run $(RUN)

# An option for each of these variables that is given: DATA_BY_POOL=6 is --data-by-pool='6'.
given = $(foreach name,$(1),$(if $(filter command environment,$(origin $(name))),--$(shell \
  tr A-Z_ a-z- <<<$(name))='$($(name))')) $(if $(HELP),--help)
tool = PYTHONPATH=bench $(VENV)/bin/python -m tools.$(1)

.PHONY: bench-cpu-profile bench-instructions bench-lru-cost bench-page-io-mutex bench-slow-statements
.PHONY: bench-walkthrough bench-whatif
bench-cpu-profile: $(VENV)/complete ## Where the processor time of a statement goes, server by server (bench/tools/README.md; HELP=1: options)
	@$(call tool,cpu_profile) $(call given,SERVERS WITH_STACKS LOAD CLIENTS POOL DATA_BY_POOL ROUNDS SETTLE SECONDS CSV)

bench-instructions: $(VENV)/complete ## Instructions of a statement and what they are for, server by server (HELP=1: options)
	@$(call tool,instructions) $(call given,SERVERS LOADS PREPARED STATEMENTS ROUNDS ROWS POOL BINARY_LOG OPTIONS CSV)

bench-lru-cost: $(VENV)/complete ## What lru_stats.so costs (HELP=1: options)
	@$(call tool,lru_cost) $(call given,CASES ROUNDS SETTLE SECONDS CLIENTS TABLE CSV) $(if $(PERF),--perf)

bench-page-io-mutex: ## How often page I/O takes the mutex of the tablespace cache (HELP=1: options)
	@bench/tools/page_io_mutex.sh $(call given,SERVERS SECONDS ROUNDS CLIENTS POOL TABLES FLUSH LINES)

bench-slow-statements: $(VENV)/complete ## What slow statements wait for, server by server (HELP=1: options)
	@$(call tool,slow_statements) $(call given,SERVERS LOAD CLIENTS POOL DATA_BY_POOL ROUNDS SETTLE SECONDS CSV)

bench-walkthrough: ## The load of the observatory's walk-through, and its output (HELP=1: what it does)
	@bench/tools/walkthrough.sh $(call given,)

bench-whatif: $(VENV)/complete ## Predictions of INNODB_LRU_WHATIF against restarts (HELP=1: options)
	@$(call tool,whatif) $(call given,SERVER POOL INSTANCES TABLE SECONDS PATIENCE CLIENTS RATE CASES OLD_BLOCKS_TIME SIZES TIMES PCTS CSV)

.PHONY: pictures
pictures: $(VENV)/complete ## Draw the pictures of the documents from the committed results
	@cd bench && ../$(VENV)/bin/python -m harness.report.picture

bench-test: $(VENV)/complete ## Run the tests of the benchmarks (on a server, if one is built)
	@cd bench && ../$(VENV)/bin/python -m pytest --quiet -p no:cacheprovider $(if $(JUNIT),--junitxml=$(JUNIT))

superbuild-test: $(VENV)/complete ## Run the tests of the superbuild and of the demonstration
	@$(VENV)/bin/python -m pytest --quiet -p no:cacheprovider $(if $(JUNIT),--junitxml=$(JUNIT)) superbuild/tests

# What make test runs of them, with reports in RESULTS. Each has a make of its own: another
# user's has no part in the jobs of this one.
tests = @$(1) env --unset=MAKEFLAGS $(MAKE) --no-print-directory $(2) PRESET=$(PRESET) JUNIT=$(abspath $(RESULTS))
python_tests = $(addprefix python-tests-,bench superbuild power)
.PHONY: python-tests $(python_tests)
python-tests: $(python_tests)

python-tests-bench: $(VENV)/complete
	$(call tests,superbuild/as-user.sh,bench-test)/bench.xml

# As root, too: they test what root's calls do.
python-tests-superbuild: $(VENV)/complete
	$(call tests,,superbuild-test)/superbuild.xml

python-tests-power: $(VENV)/complete $(RECORDER)
	$(call tests,superbuild/as-user.sh --fuse env POWERCUT_FOLDER=$(abspath $(RESULTS)/../powercut),power-tests)/powercut.xml

.PHONY: deps release unoptimised debug asan tsan stock stock-debug
deps: ## Install the Debian packages that are missing
	@superbuild/dependencies.sh

release: ## Build what users run (build/release/obj)
	@$(call build,release)

unoptimised: ## Build release without its profiles: what the patches alone bring
	@$(call build,unoptimised)

debug: ## Build what the tests run (build/debug/obj)
	@$(call build,debug)

asan: ## Build debug with InnoDB and our code under the address and undefined behaviour sanitizers
	@$(call build,asan)

tsan: ## Build debug with InnoDB and our code under the thread sanitizer
	@$(call build,tsan)

stock: ## Build unpatched upstream with the release flags, to compare with
	@$(call build,stock)

stock-debug: ## Build unpatched upstream with the debug flags, for make upstream-tests
	@$(call build,stock-debug)

.PHONY: profile stock-optimised
profile: PRESET = release
profile: ## Train the profile of release builds anew, and say how old the committed one is (PRESET=package: by that build; PRESET=stock: its own; COMPILER=1: train the compiler's profile first)
	@superbuild/dependencies.sh $(if $(COMPILER),superbuild/profile/packages)
	@$(MAKE) --no-print-directory $(VENV)/complete
	@[ -z "$(COMPILER)" ] || { export SLUICE_TARGETS="mysqld lru_stats GenError"; \
	  $(call build,profiling) && $(VENV)/bin/python superbuild/profile/train.py --compiler; }
	@$(call build,$(PRESET))
	@$(VENV)/bin/python superbuild/profile/train.py --preset $(PRESET)

stock-optimised: stock ## Lay out stock by a profile of its own, to compare with (mysqld.optimised beside mysqld)
	@[ -f build/stock/profile/facts ] || $(MAKE) --no-print-directory profile PRESET=stock
	@PROFILE=build/stock/profile superbuild/optimise.sh build/stock/obj/runtime_output_directory mysqld.optimised

.PHONY: install package package-compare package-again test-commands test-packages test-topologies image test-image
install: ## Install the release build (DESTDIR=, PREFIX=/usr/local/sluice)
	@$(call build,release)
	DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

# What users install is complete; `make run` builds less, and sooner.
MATERIALS = build/packages-venv
$(MATERIALS)/complete: packaging/requirements.txt
	@superbuild/venv.sh $(MATERIALS) $<

prepare_package = superbuild/dependencies.sh packaging/packages && \
  $(MAKE) --no-print-directory $(MATERIALS)/complete && $(call build,package)
make_packages = PYTHON=$(CURDIR)/$(MATERIALS)/bin/python packaging/package.sh

package: ## Build all that upstream's server has; Debian packages, tar.xz, bill of materials, sums (build/packages)
	@superbuild/plan.sh package package
	@$(prepare_package)
	@$(make_packages) build/package/obj build/packages
	@set -o pipefail; lintian --tag-display-limit 0 --fail-on error build/packages/*.deb | sed 's/^/package: lintian: /'

package-compare: ## Does it have all that unpatched upstream has, built alike? (builds that, too)
	@$(prepare_package)
	@packaging/compare.py lists build/package/obj build/upstream
	@$(call build,package-stock)
	@packaging/compare.py builds build/package/obj build/package-stock/obj --work build

package-again: ## Package and link once more: the same bytes? (FROM_SOURCE=1: compile, too, elsewhere, without ccache)
	@$(prepare_package)
	@PYTHON=$(CURDIR)/$(MATERIALS)/bin/python packaging/again.sh $(if $(FROM_SOURCE),--from-source)

test-commands: ## Every command of README and docs/user, on a fresh minimal Debian 12 (more than two hours; debootstrap; root)
	@superbuild/tests/fresh.sh

SUITES ?= bookworm trixie
test-packages: ## Install, replace, remove, purge them in minimal Debians (SUITES= STOCK=folder of packages to replace; root)
	@for suite in $(SUITES); do packaging/test.sh $$suite build/packages '$(STOCK)' || exit; done

# Servers that are there already: nothing is built for them.
topology_servers = $(if $(SLUICE_SERVER),--sluice '$(call absolute,$(SLUICE_SERVER))',) \
  $(if $(STOCK_SERVER),--stock '$(call absolute,$(STOCK_SERVER))',)
test-topologies: $(VENV)/complete ## Replication, groups, upgrade and back with unpatched upstream (ONLY=names; SLUICE_SERVER= STOCK_SERVER= definitions)
	@superbuild/as-user.sh --check
	@$(if $(SLUICE_SERVER),,$(prepare_package))
	@$(if $(STOCK_SERVER),,$(call build,package-stock))
	@superbuild/as-user.sh $(VENV)/bin/python -m pytest -p no:cacheprovider --capture=no --tb=native \
	  $(if $(JUNIT),--junitxml=$(JUNIT)) $(topology_servers) superbuild/topologies $(if $(ONLY),-k '$(ONLY)')

image: ## Make a container image (OCI) of the packages on a slim Debian (build/packages; SUITE=bookworm; root)
	@packaging/image/make.sh build/packages build/packages $(if $(SUITE),$(SUITE))

test-image: ## Start the newest image as users do: initialise, stop, start again (umoci, crun; root)
	@packaging/image/test.py "$$(ls -t build/packages/*.oci.tar | head -n 1)"

.PHONY: upstream patches-import patches-export patches-check patches-forget patches-build upstream-newer upstream-report
upstream: ## Fetch, verify and unpack upstream (build/upstream)
	@superbuild/upstream.sh unpack build/upstream

patches-import: upstream ## Make build/tree a git work tree with one commit a patch
	@$(PATCHES) import $(TREES)

patches-export: upstream ## Write its commits back to patches/ and our own files
	@$(PATCHES) export $(TREES)

patches-check: upstream ## Does each patch apply alone, and does the work tree match?
	@$(PATCHES) check $(TREES)

patches-forget: ## Drop the work tree's commits, keeping patches/
	@$(PATCHES) forget $(TREES)

patches-build: upstream ## Build PATCH=name alone on pristine upstream (debug)
	@test -n "$(PATCH)" || { echo "make patches-build needs PATCH=name, one of patches/series" >&2; exit 2; }
	@cmake --preset debug -B build/debug-$(PATCH) -DSLUICE_ONLY=$(PATCH) >/dev/null
	@cmake --build build/debug-$(PATCH)

upstream-newer: ## Is there a newer upstream? Try it: patches, build, tests, minutes (PIN_ONLY=1: only look)
	@superbuild/upstream-newer.sh $(if $(PIN_ONLY),--look)

upstream-report: upstream ## Write PATCH=name as a bug report to build/report/
	@for patch in $(or $(PATCH),$(shell sed -n 's/\.patch$$//p' patches/series)); do \
	  $(PATCHES) report build/upstream $$patch build/report/$$patch || exit; done

.PHONY: format lint clean
format: upstream ## Format our server code with upstream's .clang-format
	@superbuild/format.sh

# Programs of one folder are modules of each other.
python_programs = superbuild superbuild/stress superbuild/powercut superbuild/topologies packaging demo
lint: upstream $(VENV)/complete ## ShellCheck, formatting, types of Python and the patch series
	@superbuild/format.sh --check
	@git ls-files '*.sh' .ci/run | xargs shellcheck -x
	@cd bench && for how in 'check' 'format --check'; do \
	  ../$(VENV)/bin/ruff $$how --quiet . ../superbuild ../packaging ../demo || exit; done
	@cd bench && ../$(VENV)/bin/python -m mypy --no-error-summary harness lru_lab ssb
	@for folder in $(python_programs); do (cd $$folder && \
	  $(CURDIR)/$(VENV)/bin/python -m mypy --no-error-summary --config-file $(CURDIR)/bench/mypy.ini *.py) || exit; done
	@$(PATCHES) check $(TREES)

clean: ## Remove all that was built (downloads and ccache stay)
	@superbuild/clean.sh

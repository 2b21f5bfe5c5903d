# SPDX-License-Identifier: Apache-2.0
# A thin front of meson and tools/. `make help` lists the targets; each is one tool that also runs alone.

BUILD := build
MESON ?= meson
NINJA ?= ninja

.PHONY: storm all run demo-sim deb check check-quick check-long bench fuzz asan coverage paper format install clean help
.DEFAULT_GOAL := all

# all: build everything into build/ (installs no packages)
all: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v $(MESON) >/dev/null && command -v $(NINJA) >/dev/null || { \
		echo "meson or ninja is missing; run: tools/install-deps build" >&2; exit 1; }
	$(MESON) setup $(BUILD)

# run: install what is missing, build, start the daemon and show real jobs until Ctrl-C (WZ_RUN_SECONDS=20: ends itself)
run:
	@tools/install-deps build
	@$(MAKE) --no-print-directory all
	@tools/run-demo

# demo-sim: build, and compare seven placement policies on a simulated cluster, into out/demo
demo-sim: all
	@tools/run-demo-sim

# deb: build out/whalezen_VERSION_ARCH.deb
deb:
	@tools/install-deps build
	@tools/build-deb

# check: install what is missing, then every check; the last line counts the tests
check:
	@tools/install-deps build check web
	@tools/check

# check-quick: the inner loop: build, quick tests, lint (2 minutes at most)
check-quick:
	@tools/check --quick

# check-long: what is too long for every change: suite long, valgrind, each fuzzer
check-long:
	@tools/install-deps build check
	@tools/check --long

# asan: the tests under ASan, UBSan and leak detection
asan:
	@tools/check --only tests-asan

# fuzz: each fuzzer for FUZZ_SECONDS (60) seconds
fuzz:
	@tools/fuzz

# storm: random histories of the core from WZ_FIRST (the clock) on, without end; one that fails is made short and shown
storm: all
	@$(NINJA) -C $(BUILD) tests/test_core_storm
	@WZ_STORMS=0 WZ_FIRST=$${WZ_FIRST:-$$(date +%s)000} $(BUILD)/tests/test_core_storm

# coverage: line and branch coverage of src/base and src/core
coverage:
	@tools/coverage

# bench: the benchmarks, as ratios against a baseline of the same run
bench: all
	@if [ -x bench/run ]; then WZ_BUILD=$(BUILD) bench/run; else $(MESON) test -C $(BUILD) --benchmark --verbose; fi

# paper: repeat the published fragmentation table on real traces (TRACES=folder)
paper: all
	@tools/run-paper

# format: clang-format in place
format:
	@tools/format

# install: install into PREFIX (/usr/local), below DESTDIR when given
install: all
ifdef PREFIX
	@$(MESON) configure $(BUILD) --prefix $(PREFIX)
endif
	@DESTDIR=$(DESTDIR) $(MESON) install -C $(BUILD)

# clean: remove every build directory and out/
clean:
	rm -rf build build-asan build-clang build-cov build-fuzz out

# help: this list
help:
	@sed -n 's/^# \([a-z-]*\): /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name says; do \
		printf '  make %-12s %s\n' "$$name" "$$says"; done

# What a person types. CI calls `make deps && make test`; nothing here is known only to CI.

CARGO ?= cargo
STATIC_TARGET := $(shell uname -m)-unknown-linux-gnu
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Debian's own place for rustup is not in a root shell's PATH.
export PATH := $(HOME)/.cargo/bin:$(PATH)
SEPARATOR = @printf '\n== %s\n'

.PHONY: help deps build static lab kernel kernel-test kernel-patches install test check format lint docs unit tests soak generate approve bench demo deb clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## Install the system packages that are missing (apt, root)
	@packaging/install-build-dependencies

build: ## Build the program and the library in release mode
	$(SEPARATOR) 'build (release)'
	$(CARGO) build --release --locked --workspace

# For the arm `daemon:static` of the bench, and for machines without libelf: the same program, without shared libraries.
static: ## Build the program once more, linked statically
	$(SEPARATOR) 'build (release, static)'
	LIBBPF_SYS_LIBRARY_PATH=/usr/lib/$(shell cc -print-multiarch 2>/dev/null) RUSTFLAGS='-C target-feature=+crt-static' \
		$(CARGO) build --release --locked --package ahead-cli --features static --target $(STATIC_TARGET)
	install -m 755 $(TARGET)/$(STATIC_TARGET)/release/ahead $(TARGET)/release/ahead-static

lab: build ## Build the guests' kernel (some minutes the first time, seconds after a change)
	$(SEPARATOR) "the guests' kernel"
	$(TARGET)/release/ahead lab build

kernel: build ## Build the guest's kernel with the series of kernel/patches (some minutes the first time)
	$(SEPARATOR) "the guests' kernel with adaptive read-ahead"
	$(TARGET)/release/ahead lab build --kernel 6.12-patched

# Not part of `make test`, which holds the core to the policy and the series to the core.
kernel-test: export CARGO_PROFILE_RELEASE_LTO = off
kernel-test: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
kernel-test: kernel lab ## The kernel's core beside the policy, races on two processors, the bench's patterns in guests
	$(SEPARATOR) "the kernel's core beside the policy"
	$(CARGO) test --locked --package ahead-kernel-core-test
	$(SEPARATOR) 'a switched-off series reads as the stock kernel does'
	kernel/same-as-stock $(TARGET)/release/ahead
	$(SEPARATOR) 'what it leaves to the stock algorithm is as fast'
	kernel/stock-where-left $(TARGET)/release/ahead
	$(SEPARATOR) 'a raw read makes no disk flash'
	kernel/raw-read $(TARGET)/release/ahead
	$(SEPARATOR) 'small reads at the same time are no bandwidth'
	kernel/parallel-reads $(TARGET)/release/ahead
	$(SEPARATOR) 'what is known of files is charged to who reads them'
	kernel/in-groups $(TARGET)/release/ahead
	$(SEPARATOR) 'generated workloads and published cases, as reported'
	kernel/as-reported $(TARGET)/release/ahead
	$(SEPARATOR) 'races on two processors, under KASAN and lockdep, with injected faults'
	$(TARGET)/release/ahead lab build --kernel 6.12-patched-smp
	$(CARGO) bench --locked --package ahead-cli --bench kernel_races
	$(SEPARATOR) 'instructions of cached reads and faults'
	$(TARGET)/release/ahead lab build --kernel 6.12-x86
	$(TARGET)/release/ahead lab build --kernel 6.12-patched-x86
	$(CARGO) bench --locked --package ahead-cli --bench kernel_cost
	$(SEPARATOR) 'patterns in guests: stock, patched, ceiling'
	$(TARGET)/release/ahead lab bench --kernel 6.12-patched --arm stock:128,patched,ceiling $(BENCH)

kernel-patches: ## Put kernel/core into the series, after a change of it
	$(CARGO) run --locked --quiet --package ahead-kernel-core-test

SECONDS ?= 1800
PREFIX ?= /usr/local
PROGRAM ?= $(TARGET)/release/ahead
LIBRARY ?= $(TARGET)/release/libahead_preload.so
install: ## Install program, library, manual pages and completions below PREFIX (after `make build`)
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAM)
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/lib/ahead $(LIBRARY)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/*.1
	install -D -m 644 completions/ahead.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ahead
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions completions/_ahead
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d completions/ahead.fish

deb: build ## Build the Debian package, with the service of the daemon
	$(SEPARATOR) 'Debian package'
	@packaging/build-deb $(PROGRAM) $(LIBRARY) $(TARGET)

test: format lint docs tests ## Everything CI runs; the disk tests need root
	@printf '\nall of `make test` passed\n'

check: format lint unit ## The fast part: no root, no disks, a minute

format:
	$(SEPARATOR) 'format'
	$(CARGO) fmt --all --check

lint:
	$(SEPARATOR) 'lints are errors'
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

docs:
	$(SEPARATOR) 'documentation warnings are errors'
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items

unit:
	$(SEPARATOR) 'unit tests'
	$(CARGO) test --locked --workspace --lib --bins

# Release: the differential and the disk tests do millions of operations. Without link-time
# optimisation, and without lines of sources: both would be done again for each test program. The
# build comes first, so that the library lies beside the program when tests look for it, and the
# guests' kernel is linked with its disk models.
# The approved numbers of instructions are those of the same build.
# A program of tests that waits for ever fails after that many seconds; the longest takes two minutes.
TEST_ENDS := --config 'target."cfg(all())".runner = "timeout --kill-after=10 900"'
tests: export RUST_BACKTRACE = 0
tests approve: export CARGO_PROFILE_RELEASE_LTO = off
tests approve: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
tests approve: export CARGO_PROFILE_RELEASE_DEBUG = none
tests: lab
	$(SEPARATOR) 'all tests (release)'
	$(CARGO) test $(TEST_ENDS) --release --locked --workspace --no-fail-fast

# With the output of the test: what it measured.
soak: ## The daemon under load for SECONDS (root; 1800), what it uses; 100 kills; opposite jobs against every window
	$(SEPARATOR) 'soak'
	AHEAD_SOAK_SECONDS=$(SECONDS) $(CARGO) test --release --locked --package ahead-cli --test daemon_soak -- --nocapture
	AHEAD_KILLS=100 $(CARGO) test --release --locked --package ahead-cli --test daemon_rough -- --nocapture
	@mkdir -p bench-results
	AHEAD_OPPOSITE=$(CURDIR)/bench-results $(CARGO) bench --locked --package ahead-cli --bench daemon_opposite

generate: ## Write manual pages and completions again
	$(CARGO) run --locked --quiet --package xtask -- generate

# The guests' programs run under the library, so that has to be as new as the program.
approve: lab ## Compute the approved numbers again, say what changes, and write them
	$(CARGO) run --locked --quiet --package xtask -- approve

bench: build ## The full table on the emulated hdd (root, about an hour; BENCH= adds options)
	$(SEPARATOR) 'bench: hdd'
	@mkdir -p bench-results
	$(TARGET)/release/ahead bench run --disk hdd --json bench-results/hdd.json --svg bench-results/hdd.svg $(BENCH)

demo: ## Six real jobs with and without `ahead run`, on an emulated disk (root, seven minutes)
	@demo/run

clean: ## Remove what was built
	$(CARGO) clean

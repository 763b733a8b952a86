# `make help` lists the targets. Needs Rust (cargo), Go and a C compiler; each target says what it misses.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

TARGET := $(or $(CARGO_TARGET_DIR),target)

# cargo-deny comes from crates.io into target/: nothing has to be installed, and every machine runs this very version.
# Unoptimised, it is built in a third of the time and runs for one second instead of half a one.
DENY_VERSION := 0.20.2
DENY := $(TARGET)/tools/bin/cargo-deny

# When this make began: `make test` tells where the time went.
BEGAN := $(shell date +%s)

# ONCE=1: the demo ends after its checks. TESTS=…: what `make test` hands on to `cargo test`, such as a test's name.
# REGISTRY=registry.example.com/you: where images come from; localhost without it.
ONCE ?=
TESTS ?=
REGISTRY ?=
URL ?=
SEEDS ?=
SEED ?=
WITHOUT ?=
MINUTES ?=
# How much of its full numbers `make bench-scale` uses: 1 unless it is given.
SCALE ?=
# What `make fuzz` does: how long for each target, which ones, and whether inputs that were found are kept.
SECONDS ?=
TARGETS ?=
KEEP ?=
MUTANT ?=
# SERVERS=real: `make test` runs all end-to-end tests on real API servers, those, too, for which the model of one would do.
SERVERS ?=
export SERVERS
# What `make test` does besides. CHAOS=1: lets connections, programs and API servers fail for three minutes. DEMOS=1: plays all
# demos. FUZZ=1: fuzzes each reader of what strangers write for a minute, one at a time, for others compute, too; and sends
# 2,000 random sequences to the model of the API server and to a real one, in place of 100.
CHAOS ?=
DEMOS ?=
FUZZ ?=
# ONE_BUILD=1: `make test` lets clippy compile, in place of having it check all that is then compiled a second time. What comes
# of it is the same but for optimisations of rustc's own, and nothing that was built otherwise is used: for machines that
# begin with nothing.
ONE_BUILD ?=
ifneq ($(ONE_BUILD),)
export RUSTC_WORKSPACE_WRAPPER := clippy-driver
export CLIPPY_ARGS := --deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
endif
EXAMPLES := certs migration generic multi-tenant graphs distributor provider

##@ Use

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: need-cargo need-cc ## Run the main job on real API servers, checked step by step (ONCE=1: end after the checks)
	@ONCE=$(ONCE) examples/certs/run.sh

.PHONY: demo-migration
demo-migration: need-cargo need-cc ## Move a store with its data while somebody writes to it (examples/migration)
	@ONCE=$(ONCE) examples/migration/run.sh

.PHONY: demo-generic
demo-generic: need-cargo need-cc ## Place machines, clusters and databases by boundary, weight, capacity (examples/generic)
	@ONCE=$(ONCE) examples/generic/run.sh

.PHONY: demo-multi-tenant
demo-multi-tenant: need-cargo need-cc ## Two tenants, hostile values, and what each may see (examples/multi-tenant)
	@ONCE=$(ONCE) examples/multi-tenant/run.sh

.PHONY: demo-graphs
demo-graphs: need-cargo need-cc ## A kind of one's own, and one whose certificate the broker brings (examples/graphs)
	@ONCE=$(ONCE) examples/graphs/run.sh

.PHONY: demo-distributor
demo-distributor: need-cargo need-cc ## A kind defined once and served in every cluster, rolled out in waves (examples/distributor)
	@ONCE=$(ONCE) examples/distributor/run.sh

.PHONY: demo-provider
demo-provider: need-cargo need-cc ## Copy the template of a provider, and have it serve another cluster (examples/provider)
	@ONCE=$(ONCE) examples/provider/run.sh

.PHONY: build
build: need-cargo need-cc ## Build the release binaries, target/release/resource-broker, resource-broker-operator, resource-graphs, kubectl-broker
	cargo build --locked --release --package resource-broker --package resource-broker-operator --package resource-graphs \
		--package kubectl-broker

# What uname calls them, as krew does.
KREW_PLATFORM := $(shell uname -s | tr '[:upper:]' '[:lower:]')_$(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(shell uname -m)))

.PHONY: krew
krew: need-cargo need-cc ## Build what krew installs of kubectl-broker for this platform, target/krew/ (URL=…: where its archive will be)
	cargo build --locked --release --package kubectl-broker
	@URL='$(URL)' cli/krew.sh $(KREW_PLATFORM)=$(TARGET)/release/kubectl-broker

##@ Install

.PHONY: images
images: need-cargo need-cc ## Build the container images, target/images/*.tar, without any container engine (REGISTRY=… names them)
	@REGISTRY='$(REGISTRY)' config/images/build.sh

.PHONY: install
install: ## Install the coordination cluster's CRDs into kubectl's current context
	kubectl apply --server-side -k config/crd
	kubectl apply --server-side -k config/crd-graphs

.PHONY: uninstall
uninstall: ## Remove these CRDs but those of ResourceGraphDefinitions, and with them all Brokers, Migrations and MigrationConfigurations
	kubectl delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: ## Install the operator into kubectl's current context (REGISTRY=registry.example.com/you: where its images are)
	@REGISTRY='$(REGISTRY)' config/default/deploy.sh

.PHONY: undeploy
undeploy: ## Remove Brokers and operator from kubectl's current context; CRDs and Secrets stay
	@config/default/undeploy.sh

##@ Develop

# `--test` takes all suites of a name, whosever they are: no suite that needs API servers may have one of these.
QUICK_BINS := bench bucket-provider kubectl-broker model-apiserver mutants suites
QUICK_TESTS := binary cel circles configuration core crds documentation documents fleet graph_kinds least_privilege \
	reference_yaml stand_ins template

.PHONY: check
check: need-cargo need-cc fmt-check clippy ## Format, clippy, and the tests that need no API server (a minute)
	cargo test --locked --workspace --lib $(addprefix --bin ,$(QUICK_BINS)) $(addprefix --test ,$(QUICK_TESTS))

# One build of all binaries and tests comes first: `cargo test` alone would not build the binaries that the tests start, and
# building those by themselves would compile a third of the dependencies a second time, with other features. Half of what
# tests compute is done by API servers, real ones, and a quarter of that was the collection of garbage: they do it seldom here. With
# less than 3 GiB the one that is given the largest objects did nothing else, and gave requests up. There are many more of them
# than processors: with one thread each they compute an eighth less, for none spins in search of work.
.PHONY: test
test: need-cargo need-cc fmt-check $(if $(ONE_BUILD),,clippy) controlplane helm prometheus ## Format, clippy, manifests, all tests, the page in Chromium among them, and, as root on Linux, the real node (TESTS=… for some; CHAOS=1: and three minutes of chaos, DEMOS=1: and all demos, FUZZ=1: and nine minutes of fuzzing; SERVERS=real: no suite on the model of an API server)
	cargo build --locked --workspace --bins --tests
	$(TARGET)/debug/manifests --check config
	GOGC=400 GOMEMLIMIT=3GiB GOMAXPROCS=1 NODE_IMAGES=debug ONCE=1 $(if $(FUZZ),FUZZ_LANES=1 SIM_SEQUENCES=2000) \
		$(TARGET)/debug/suites --since $(BEGAN) $(if $(TESTS),-- $(TESTS), \
		--also 'real node=test/node/run.sh' $(if $(FUZZ),--also 'fuzz=test/fuzz/run.sh') $(if $(CHAOS),--also 'chaos=test/chaos/run.sh') \
		$(foreach example,$(if $(DEMOS),$(EXAMPLES)),--also 'demo $(example)=examples/$(example)/run.sh'))

# For each seed a world of the broker and one of graphs, and the named stories with a crash after every single write; SEED=… is
# those of one, with their stories, WITHOUT=… some of what they take, SCENARIO=… and CRASH=… a named one: what is told of a failure.
# What expressions cost is counted here, too: once they cost less where the compiler optimises, which no other suite has it do so far.
.PHONY: simulate
simulate: need-cargo need-cc ## Run broker and graphs through worlds that go wrong (SEEDS=5000: of each so many; SEED=7: one, with its story; SCENARIO='it is edited' CRASH=3: one with a name)
	SEEDS=$(or $(SEEDS),5000) SEED=$(SEED) WITHOUT='$(WITHOUT)' SCENARIOS=all cargo test --locked --profile simulate \
		--package sim --test worlds $(if $(SEED),,--package runtime-cel --test cel) -- --nocapture --test-threads 1 worlds_that_go_wrong \
		$(if $(SEED),,a_broker_that_crashes a_provider_that_is_lost nuisance expression::costs)

.PHONY: chaos
chaos: need-cargo need-cc controlplane ## Let connections, programs and API servers fail under a stream of edits, and judge the end (MINUTES=20; SEED=7: alike)
	cargo build --locked --release --package chaos --package resource-broker --package resource-graphs --bins
	MINUTES=$(or $(MINUTES),20) $(if $(SEED),SEED=$(SEED)) $(TARGET)/release/chaos --logs $(TARGET)/chaos

.PHONY: fuzz
fuzz: need-cargo need-cc ## Feed the readers of what strangers write with what coverage suggests (SECONDS=60 for each, TARGETS=… for some, KEEP=1: keep it)
	FUZZ_SECONDS='$(SECONDS)' FUZZ_TARGETS='$(TARGETS)' FUZZ_KEEP='$(KEEP)' test/fuzz/run.sh

# Everything that is broken is in one build.
.PHONY: mutants
mutants: need-cargo need-cc ## Break decisions and runtime in 82 ways, and see the simulator notice each (MUTANT=7,12: only these)
	cargo run --locked --package mutants -- --only '$(MUTANT)'

.PHONY: lint
lint: need-cargo need-cc fmt-check clippy deny ## Format, clippy, and licences, bans, sources and advisories of all dependencies

.PHONY: fmt
fmt: need-cargo ## Format the code
	cargo fmt --all

.PHONY: manifests
manifests: need-cargo need-cc ## Write CRDs and permissions in config/ from the code in api/ and config/src/
	cargo run --locked --package manifests -- config

.PHONY: bench
bench: need-cargo need-cc controlplane ## Measure latency, throughput, writes and memory on its own API servers (minutes)
	cargo build --locked --release --package bench --package resource-broker --package resource-graphs \
		--package kubectl-broker --bins
	$(TARGET)/release/bench

# The hour of nothing is virtual: it takes a minute, in the profile that `make simulate` has built.
.PHONY: bench-scale
bench-scale: need-cargo need-cc controlplane ## Measure the broker with 50,000 objects, 1,000 consumers, 100 providers; and an hour of nothing (SCALE=0.02: a look in about a minute)
	cargo build --locked --release --package bench --package resource-broker --bins
	$(TARGET)/release/bench --check --only scale --scale $(or $(SCALE),1)
	OBJECTS=50000 cargo test --locked --profile simulate --package sim --test hour -- --nocapture

.PHONY: test-node
test-node: need-cargo need-cc need-go ## The whole on a real kubelet and containerd, from the images (root, Linux)
	@test/node/run.sh

.PHONY: examples
examples: need-cargo need-cc ## Run the demos of all examples to their end
	@for example in $(EXAMPLES); do \
		printf '\n=== %s\n' "$$example"; ONCE=1 examples/$$example/run.sh; \
	done

.PHONY: helm
helm: need-go ## Build the pinned Helm that the tests judge config/chart with (minutes, once)
	@test/helm/build.sh

.PHONY: prometheus
prometheus: ## Bring the Prometheus that the tests load config/monitoring into: of PATH, or of Debian's package, not installed (seconds, once)
	@test/prometheus/fetch.sh || [ $$? = 77 ]

.PHONY: controlplane
controlplane: need-go ## Build the pinned etcd, API server, controller manager and kubectl (minutes, once)
	@test/controlplane/build.sh

.PHONY: clean
clean: need-cargo ## Remove everything that was built, and what an interrupted demo left
	cargo clean
	rm -rf test/controlplane/bin test/helm/bin test/prometheus/bin .demo-*

# --- parts of the above -----------------------------------------------------------------------------------------------

.PHONY: fmt-check
fmt-check: need-cargo
	cargo fmt --all --check

.PHONY: clippy
clippy: need-cargo need-cc
	cargo clippy --locked --workspace --all-targets -- --deny warnings

# The advisory database lives on GitHub. A machine that cannot fetch it checks the rest, and says so.
.PHONY: deny
deny: $(DENY)
	$(DENY) --log-level error --locked check licenses bans sources
	@if $(DENY) fetch db >$(TARGET)/advisories.log 2>&1; then \
		$(DENY) --log-level error --locked check advisories; \
	else \
		echo 'advisories: not checked, their database cannot be fetched ($(TARGET)/advisories.log)'; \
	fi

$(DENY): Makefile | need-cargo need-cc
	@if [ "$$($@ --version 2>/dev/null)" = 'cargo-deny $(DENY_VERSION)' ]; then touch $@; else \
		echo 'building cargo-deny $(DENY_VERSION), once (about a minute on two cores)'; \
		CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --debug --locked --version $(DENY_VERSION) \
			--root $(TARGET)/tools --target-dir $(TARGET)/tools/build; \
		rm -rf $(TARGET)/tools/build; \
	fi

# --- what a machine needs ---------------------------------------------------------------------------------------------

.PHONY: need-cargo need-cc need-go
need-cargo:
	@command -v cargo >/dev/null || { \
		echo 'cargo is missing: install Rust with rustup, https://rustup.rs (Debian'\''s own Rust is too old)' >&2; exit 1; }

need-cc:
	@command -v cc >/dev/null || { echo 'cc is missing: apt-get install build-essential' >&2; exit 1; }

# build.sh says more, but only after minutes of other work.
need-go:
	@command -v go >/dev/null || [ -n "$${KUBEBUILDER_ASSETS:-}" ] || [ -x test/controlplane/bin/kubectl ] || { \
		echo 'go is missing: install Go, https://go.dev/dl (see test/controlplane/go.mod for the version),' >&2; \
		echo 'or set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver, kube-controller-manager and kubectl' >&2; exit 1; }

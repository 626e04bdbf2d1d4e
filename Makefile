# Latchwire. `make` alone tests and lints; `make help` lists the targets.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules --warn-undefined-variables
.DEFAULT_GOAL := all

BIN     := $(CURDIR)/.bin
# One module after another: go.work is the list.
MODULES := $(shell go list -m -f '{{.Dir}}')
export GOTOOLCHAIN := local

# Tools, pinned. Each is built once for each version.
GOLANGCI_LINT_VERSION := v2.15.0
DEADCODE_VERSION      := v0.52.0
NATS_SERVER_VERSION   := v2.15.3
CYCLONEDX_VERSION     := v1.10.0
GOVULNCHECK_VERSION   := v1.9.0
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
DEADCODE      := $(BIN)/deadcode-$(DEADCODE_VERSION)
NATS_SERVER   := $(BIN)/nats-server-$(NATS_SERVER_VERSION)
CYCLONEDX     := $(BIN)/cyclonedx-gomod-$(CYCLONEDX_VERSION)
GOVULNCHECK   := $(BIN)/govulncheck-$(GOVULNCHECK_VERSION)

# install builds tool $(1) into $(2).
install = tmp=$$(mktemp -d) && GOBIN=$$tmp go install $(1) && mkdir -p $(BIN) && mv $$tmp/* $(2) && rmdir $$tmp

.PHONY: all
all: test lint ## Test and lint

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

.PHONY: run
run: ## Run the whole pipeline here: embedded NATS, demo extensions
	@go run ./services/latchwire/cmd/latchwire run --log-format text --log-level warn $(RUN_FLAGS)
RUN_FLAGS ?=

.PHONY: build
build: ## Build every binary into .bin
	@mkdir -p $(BIN)
	@for s in $(BINARIES); do go build -trimpath -o $(BIN)/$$s ./services/$$s/cmd/$$s; done
BINARIES := edge-api mcp dispatcher webhook-worker latchwire

.PHONY: test
test: ## Every test, with the race detector
	@go build -race work
	go test -race -p 1 -timeout 15m work

.PHONY: lint
lint: arrows $(GOLANGCI_LINT) $(DEADCODE) ## Lint, dead code, module arrows
	$(GOLANGCI_LINT) run $(addsuffix /...,$(MODULES))
	@dead="$$($(DEADCODE) -test work)"; if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi

.PHONY: arrows
arrows: ## Each module builds without the workspace, so imports point down
	@for m in $(MODULES); do (cd $$m && GOWORK=off go build ./... && GOWORK=off go vet ./...) || exit 1; done

.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME, or those that FUZZ matches
	scripts/fuzz $(FUZZTIME) '$(FUZZ)'
FUZZTIME ?= 10m
FUZZ     ?= ^Fuzz

.PHONY: fuzz-short
fuzz-short: ## Every fuzz target for ten seconds
	scripts/fuzz 10s

.PHONY: supply-chain
supply-chain: $(GOVULNCHECK) ## Checksums, retractions, licences, known vulnerabilities, tracked secrets
	GOVULNCHECK=$(GOVULNCHECK) scripts/supply-chain

.PHONY: licences
licences: ## List what is linked, with its licence
	@scripts/licences

.PHONY: sbom
sbom: build $(CYCLONEDX) ## What each binary is made of, as CycloneDX, into .bin/sbom
	@mkdir -p $(BIN)/sbom
	@for s in $(BINARIES); do $(CYCLONEDX) bin -json -std -version "$$(git describe --always --dirty)" -output $(BIN)/sbom/$$s.cdx.json $(BIN)/$$s; done

.PHONY: security-matrix
security-matrix: ## Which test holds each row of the threat model
	@scripts/security-matrix

.PHONY: bench
bench: ## Throughput, latency and CPU as ratios to a floor measured in the same run
	go run ./services/latchwire/cmd/bench $(BENCH_FLAGS)
BENCH_FLAGS ?=

.PHONY: bench-delivery
bench-delivery: ## Delivery of events to ten endpoints, and beside a dead one, as ratios to their own floor
	go run ./services/latchwire/cmd/bench --deliveries $(BENCH_FLAGS)

.PHONY: smoke
smoke: build ## Run every command of the README
	scripts/smoke

.PHONY: processes
processes: build $(NATS_SERVER) ## The end-to-end tests against separate processes, two of each service
	NATS_SERVER=$(NATS_SERVER) BIN=$(BIN) scripts/processes go test -count=1 ./services/latchwire/e2e

.PHONY: conformance
conformance: ## The official MCP suite and clients against the whole pipeline; needs npm
	cd $(NODE_DIR) && npm install --silent --ignore-scripts # by the lock file; ci wants packages of other systems
	LATCHWIRE_NODE=$(CURDIR)/$(NODE_DIR) go test -count=1 ./services/latchwire/conformance
NODE_DIR := services/latchwire/conformance/node

$(GOLANGCI_LINT):
	@$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION),$@)
$(DEADCODE):
	@$(call install,golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION),$@)
$(CYCLONEDX):
	@$(call install,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION),$@)
$(GOVULNCHECK):
	@$(call install,golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION),$@)
$(NATS_SERVER):
	@$(call install,github.com/nats-io/nats-server/v2@$(NATS_SERVER_VERSION),$@)

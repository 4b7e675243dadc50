# zeno: two commands are enough, `make run` and `make test`. The others are for those who change it.

GO       ?= go
VERSION  ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X github.com/reflection-dev/zeno/internal/cli.built=$(VERSION)
# staticcheck runs from the module proxy at this version; nothing of it enters go.mod.
LINT     := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s

.PHONY: build stage2 run check test bench lint fuzz cross need clean

build: stage2 ## bin/zeno
	CGO_ENABLED=0 $(GO) build -trimpath -tags zeno_stage2 -ldflags '$(LDFLAGS)' -o bin/zeno .

stage2: ## what zeno runs inside boxes, a small program that is built into it
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o sandbox/native/stage2.bin ./sandbox/native/stage2/cmd

run: build ## the main job on embedded defaults: no key, no network
	bin/zeno demo

check: build cross ## the quick tier, for every edit: under three minutes
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'gofmt would change these files'; exit 1; }
	$(GO) vet ./...
	$(GO) test -short ./...

cross: ## other systems build
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null .
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null .

need: ## what the tests use and the machine lacks, by name from Debian
	@.ci/need

# Programs that run until a limit ends them take ten times as long under the race detector and show it nothing: they run
# without it, and so does what counts the bytes of a start, which the detector adds to. What is concurrent runs with it.
HEAVY := Hostile|Hoarders|NothingIsKept|EveryFunction|Deepest|SlowToStart

test: need build cross lint ## everything
	$(GO) test -timeout 30m ./...
	$(GO) test -race -short -timeout 20m -skip '$(HEAVY)' ./...
	$(GO) test -tags safevalue -short -timeout 15m -skip '$(HEAVY)' ./lisp/...
	cd bench && $(GO) vet -mod=mod ./... && $(GO) test -mod=mod -timeout 15m ./...

bench: ## ratios against peers, in one run
	cd bench && $(GO) run -mod=mod . $(BENCH)

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) run $(LINT) ./...

fuzz: ## each fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "fuzz $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

clean:
	rm -rf bin

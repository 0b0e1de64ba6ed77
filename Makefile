# kist: build, test, try, install. `make help` lists the targets.

PREFIX ?= $(HOME)/.local
SWIFT ?= swift
# Imports that the manifest does not declare are errors.
CHECKED := --explicit-target-dependency-import-check error
# A static standard library makes the programs start faster and run where no Swift is installed.
RELEASE := -c release --static-swift-stdlib --scratch-path .build-release

.PHONY: help deps deps-build build release test demo install uninstall bench lint format clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

deps-build: ## Install the Debian packages that building and the demo need
	@scripts/install-packages pkg-config libsodium-dev libsqlite3-dev socat

deps: deps-build ## Install the Debian packages that the tests need, too
	@scripts/install-packages python3 python3-nacl util-linux

build: deps-build ## Build everything for debugging
	$(SWIFT) build --build-tests $(CHECKED)

release: deps-build ## Build kistd and kist for use
	$(SWIFT) build $(RELEASE) --product kistd
	$(SWIFT) build $(RELEASE) --product kist

test: deps ## Install what the tests need and run them all
	$(SWIFT) test $(CHECKED)
	/usr/bin/python3 Tests/Reader/test_vectors.py

demo: release ## Save, load, list and delete on a fresh store, and show it
	@BIN=$$($(SWIFT) build $(RELEASE) --show-bin-path) scripts/demo

bench: release ## Measure kist beside the physical limits, as ratios
	Benchmarks/run

install: release ## Put kistd and kist under PREFIX (default ~/.local)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 .build-release/release/kistd .build-release/release/kist $(DESTDIR)$(PREFIX)/bin
	@echo "installed kistd and kist in $(DESTDIR)$(PREFIX)/bin; start the daemon with: kistd"

uninstall: ## Remove the two programs from PREFIX, never the data
	rm -f $(DESTDIR)$(PREFIX)/bin/kistd $(DESTDIR)$(PREFIX)/bin/kist

lint: ## Check the formatting
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks

format: ## Format the sources in place
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks

clean: ## Remove what was built
	rm -rf .build .build-release

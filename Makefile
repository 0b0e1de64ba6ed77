# kist: build, test, try, install. `make help` lists the targets.

PREFIX ?= $(HOME)/.local
# Where systemd looks for the units of users: one place for a user, another for all of them.
HOME_UNITS := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/systemd/user
UNITS ?= $(if $(filter $(HOME)/%,$(PREFIX)),$(HOME_UNITS),$(PREFIX)/lib/systemd/user)
SOCKETS := $(notdir $(wildcard systemd/*.socket))
SWIFT ?= swift
# Imports that the manifest does not declare are errors.
CHECKED := --explicit-target-dependency-import-check error
# So many tests at once that each is answered within its deadlines, on a busy machine too.
WIDTH := --experimental-maximum-parallelization-width 16
# Where the two programs stand when they are built for use.
BIN := .build-release/bin
# A static standard library: a program starts faster, and runs where no Swift is installed. Optimised
# once more as a whole when it is linked, with a section for each function and without what debuggers read.
RELEASE := -c release --static-swift-stdlib --experimental-lto-mode=full -Xswiftc -use-ld=lld -Xswiftc -gnone -Xcc -g0
# kistd is linked to the libsodium and the SQLite of the system. All their addresses are looked up
# at the start, since a lookup in passing leaves vector registers, secrets in them, on the stack.
# What follows keeps little in memory: packed relocations; no table of its own symbols, which nobody
# looks up; and the few functions of libstdc++ that Swift's runtime calls, in place of the library,
# which the linker finds here first.
LIBSTDCXX := .build-release/libstdc++
KISTD := $(RELEASE) -Xlinker -z -Xlinker now -Xlinker -z -Xlinker pack-relative-relocs \
  -Xlinker --no-export-dynamic -Xswiftc -L$(CURDIR)/$(LIBSTDCXX) --scratch-path .build-release/kistd --product kistd
# kist is linked to nothing, which takes half of the time that it starts in. The option concerns
# the compiler too, so with one folder for both programs each would be compiled again for the other.
KIST := $(RELEASE) -Xswiftc -static-executable --scratch-path .build-release/kist --product kist

# What `make bench` is asked for; with --check it fails where a bound is missed.
BENCH ?= --update-docs

# The manual pages and the shells' completion, where they stand below PREFIX/share.
SHARE := .build-release/share
COMPLETIONS := bash-completion/completions/kist fish/vendor_completions.d/kist.fish zsh/site-functions/_kist
# A page for each command that docs/cli.md lists.
COMMANDS := $(shell sed -n 's/^| \[`kist \([a-z]*\)`\].*/\1/p' docs/cli.md)
PAGES := $(patsubst %,man/man1/%.1,kist $(addprefix kist-,$(COMMANDS))) man/man7/kist-protocol.7 man/man8/kistd.8
SHARED := $(COMPLETIONS) $(PAGES)

# The names that other tools call kist by; not that of `keyring`, which may be another program's.
HELPERS := git-credential-kist docker-credential-kist cargo-credential-kist terraform-credentials-kist kist-askpass

.PHONY: help docs test-transcript test-without-keyring deps deps-build build release test test-release test-systemd test-integrations test-tsan test-tsan-short test-asan test-asan-short test-examples deb test-deb leaks torture torture-short fuzz fuzz-short fuzz-coverage demo install uninstall bench bench-guard lint format clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 25

deps-build: ## Install the Debian packages that building and the demo need
	@scripts/install-packages pkg-config libsecret-1-dev libglib2.0-dev libsodium-dev libsqlite3-dev python3 socat

deps: deps-build ## Install the Debian packages that the tests need, too
	@scripts/install-packages dbus-daemon gcc gcr gnome-keyring gnupg keepassxc libc6-dev libglib2.0-bin libsecret-tools pass \
	  python3-cryptography python3-dbus python3-gi python3-nacl strace util-linux xvfb

build: deps-build ## Build everything for debugging
	$(SWIFT) build --build-tests $(CHECKED)

release: deps-build ## Build kistd and kist for use
	@mkdir -p $(LIBSTDCXX)
	@-ln -sf "$$("$$(dirname "$$(command -v $(SWIFT))")/clang" -print-file-name=libstdc++.a)" $(LIBSTDCXX)
	$(SWIFT) build $(KISTD)
	$(SWIFT) build $(KIST)
	@# Without symbols, which are a third of a program and stay in the files that this copies.
	@install -s -D -m 755 -t $(BIN) .build-release/kistd/release/kistd .build-release/kist/release/kist
	@$(MAKE) --no-print-directory $(addprefix $(SHARE)/,$(SHARED))

test: deps ## Install what the tests of the code need, and run those
	$(SWIFT) test $(CHECKED) $(WIDTH) --skip KistLibsecretTests --skip EndToEndTests --skip SystemdTests
	$(SWIFT) test $(CHECKED) --filter EndToEndTests
	/usr/bin/python3 Tests/Reader/test_vectors.py
	$(SWIFT) test $(CHECKED) --filter KistLibsecretTests

test-release: release ## Run the end-to-end tests on the programs as they are released
	KIST_PROGRAMS=$(CURDIR)/$(BIN) $(SWIFT) test $(CHECKED) --filter EndToEndTests

test-systemd: release ## Boot systemd 252 and 257 in containers and try kist there, as root
	@scripts/install-packages debian-archive-keyring debootstrap systemd-container util-linux
	@set -e; oldest=$$(scripts/systemd-tree bookworm); newest=$$(scripts/systemd-tree trixie); \
	KIST_SYSTEMD_252=$$oldest KIST_SYSTEMD_257=$$newest $(SWIFT) test $(CHECKED) --filter SystemdTests

test-transcript: release ## Carry out the sessions of Tests/Transcript, on a terminal and without one
	Tests/Transcript/run $(BIN)

test-integrations: release ## Try kist with git, docker, cargo, AWS, kubectl and others themselves
	@scripts/install-packages bash dbus-daemon fish git gnome-keyring keepassxc libglib2.0-bin libsecret-tools \
	  openssh-client openssl python3-venv \
	  skopeo xz-utils zsh
	@command -v kubectl >/dev/null || scripts/install-packages kubernetes-client
	@command -v docker >/dev/null || scripts/install-packages docker.io
	@command -v cargo >/dev/null || scripts/install-packages cargo
	@set -e; tools=$$(scripts/python-tools); export KIST_PROGRAMS=$(CURDIR)/$(BIN) PYTHONDONTWRITEBYTECODE=1; \
	PATH=$$tools:$$PATH /usr/bin/python3 -m unittest discover -s Tests/Integrations; \
	$$tools/python -m pytest -q -p no:cacheprovider integrations/python/tests

test-examples: ## Build and test the program of Examples, as one outside of kist would be
	$(SWIFT) test --package-path Examples

test-tsan: deps ## Run the tests and the programs under Thread Sanitizer
	@scripts/install-packages binutils
	SWIFT=$(SWIFT) Tests/Sanitizers/run thread

test-tsan-short: deps ## The same without programs and keyrings
	@scripts/install-packages binutils
	SWIFT=$(SWIFT) Tests/Sanitizers/run thread short

test-asan: deps ## Run the tests and the programs under Address Sanitizer
	SWIFT=$(SWIFT) Tests/Sanitizers/run address

test-asan-short: deps ## The same without programs and keyrings
	SWIFT=$(SWIFT) Tests/Sanitizers/run address short

leaks: release deps ## Look for leaks of kistd on a keyring: many rounds, and a few under valgrind
	@scripts/install-packages binutils valgrind
	BIN=$(CURDIR)/$(BIN) SYMBOLS=$(CURDIR)/.build-release/kistd/release/kistd SWIFT=$(SWIFT) scripts/leaks

TORTURE_SECONDS ?= 600
torture: release deps ## Attack kist where it makes promises, TORTURE_SECONDS for each part without an end
	@scripts/install-packages gcc libc6-dev strace
	Tests/Torture/run --bin $(BIN) --seconds $(TORTURE_SECONDS)

torture-short: release deps ## A sample of each of these attacks
	@scripts/install-packages gcc libc6-dev strace
	Tests/Torture/run --bin $(BIN) --short

FOR ?= 600
fuzz: deps-build ## Feed mutated input to all that reads what others wrote, FOR seconds; to one TARGET
	FOR=$(FOR) TARGET=$(TARGET) SWIFT=$(SWIFT) Tests/Fuzz/run

docs: ## Make the pages of the library KistClient, .build-docs/KistClient.doccarchive
	rm -rf .build-docs/graphs
	$(SWIFT) build --quiet --target KistClient --scratch-path .build-docs -Xswiftc -emit-symbol-graph \
	  -Xswiftc -emit-symbol-graph-dir -Xswiftc $(CURDIR)/.build-docs/graphs
	# The modules below it are a matter of the project.
	cd .build-docs/graphs && rm -f KistCore*.json KistJSON*.json KistWire*.json
	docc convert Sources/KistClient/KistClient.docc --additional-symbol-graph-dir .build-docs/graphs \
	  --output-dir .build-docs/KistClient.doccarchive --fallback-display-name KistClient \
	  --fallback-bundle-identifier kist.KistClient --warnings-as-errors --transform-for-static-hosting

fuzz-short: deps-build ## The same from the corpus on, for 5 seconds each
	TARGET=$(TARGET) SWIFT=$(SWIFT) Tests/Fuzz/run short

fuzz-coverage: deps-build ## How many lines of what reads the corpus reaches
	TARGET=$(TARGET) SWIFT=$(SWIFT) Tests/Fuzz/run coverage $(FILE)

test-without-keyring: deps-build ## Build kistd without the trait Libsecret, and try it
	$(SWIFT) build --disable-default-traits --scratch-path .build-without-keyring --product kistd
	$(SWIFT) build --disable-default-traits --scratch-path .build-without-keyring --product kist
	@BIN=$(CURDIR)/.build-without-keyring/debug scripts/check-without-keyring

demo: release ## Save, load, list and delete on a fresh store, and show it
	@BIN=$(CURDIR)/$(BIN) scripts/demo

bench: deps release ## Measure kist beside its peers and the physical limits, into docs/performance.md
	@scripts/install-packages gcc git gnupg libc6-dev openssh-client pass python3-keyring python3-secretstorage
	Benchmarks/run --bin $(BIN) $(BENCH)

bench-guard: release ## Count what a load and a save cost, and compare with the baseline
	@scripts/install-packages binutils python3 strace valgrind
	Benchmarks/guard --bin $(BIN)

# Built where one is missing or older than a source: who installs may be without a compiler.
$(BIN)/kistd $(BIN)/kist &: $(shell find Package.swift Sources -type f)
	$(MAKE) release

.DELETE_ON_ERROR:
$(addprefix $(SHARE)/,$(PAGES)): scripts/man-page $(wildcard docs/*.md) Sources/KistCore/Values/KistVersion.swift
	@mkdir -p $(@D)
	@scripts/man-page $(basename $(@F)) > $@

$(SHARE)/bash-completion/completions/kist: completions/kist.bash
$(SHARE)/fish/vendor_completions.d/kist.fish: completions/kist.fish
$(SHARE)/zsh/site-functions/_kist: completions/kist.zsh
$(addprefix $(SHARE)/,$(COMPLETIONS)): scripts/completion $(BIN)/kist
	@mkdir -p $(@D)
	$(BIN)/kist --experimental-dump-help | scripts/completion $(patsubst completions/kist.%,%,$(filter completions/%,$^)) > $@

# A program that its user cannot read is closed to the user's other programs from its first instruction on,
# since exec(2) makes it undumpable. It can also make itself so, but only after they have had time to open its memory.
# What root or a package owns is unreadable to all other users, what a user owns, to that user, too.
PROGRAM_MODE = $(if $(DESTDIR)$(filter 0,$(shell id -u)),711,111)
install: $(BIN)/kistd $(BIN)/kist $(addprefix $(SHARE)/,$(SHARED)) ## Put all that kist is under PREFIX (default ~/.local)
	@case '$(PREFIX)' in (/*) ;; (*) echo "PREFIX is not an absolute path" >&2; exit 1; esac
	@case '$(PREFIX)$(UNITS)' in (*[!A-Za-z0-9/._@+-]*) \
	  echo "PREFIX has a character that systemd or make reads as something else; name another one" >&2; exit 1; esac
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(UNITS) $(addprefix $(DESTDIR)$(PREFIX)/share/,doc/kist $(sort $(dir $(SHARED))))
	install -m $(PROGRAM_MODE) $(BIN)/kistd $(BIN)/kist $(DESTDIR)$(PREFIX)/bin
	for name in $(SHARED); do install -m 644 $(SHARE)/$$name $(DESTDIR)$(PREFIX)/share/$$name || exit; done
	install -m 644 docs/*.md $(DESTDIR)$(PREFIX)/share/doc/kist
	for name in $(HELPERS); do ln -sf kist $(DESTDIR)$(PREFIX)/bin/$$name; done
	for name in $(HELPERS); do ln -sf kist-helper.1 $(DESTDIR)$(PREFIX)/share/man/man1/$$name.1; done
	install -m 644 systemd/*.socket systemd/kistd-directories.service $(DESTDIR)$(UNITS)
	sed 's|/usr/bin/kistd|$(PREFIX)/bin/kistd|' systemd/kistd.service > $(DESTDIR)$(UNITS)/kistd.service
	@echo "installed; have kistd start when it is needed: systemctl --user enable --now $(SOCKETS)"
	@echo "where there is no systemd: kistd &"
	@case ":$$PATH:" in (*:'$(PREFIX)/bin':*) ;; (*) echo 'put it into PATH: export PATH="$(PREFIX)/bin:$$PATH"' ;; esac

uninstall: ## Stop kistd as a service and remove programs and units, never the data
	@-[ -n "$(DESTDIR)" ] || { systemctl --user disable --now $(SOCKETS) && systemctl --user stop kistd.service; } 2>/dev/null
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,kistd kist $(HELPERS))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/,$(SHARED) $(patsubst %,man/man1/%.1,$(HELPERS)))
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/kist
	rm -f $(addprefix $(DESTDIR)$(UNITS)/,$(notdir $(wildcard systemd/*)))
	@-[ -n "$(DESTDIR)" ] || systemctl --user daemon-reload 2>/dev/null
	@echo "removed; the data is where it was. Each other user who had enabled it stops it with:" \
	  "systemctl --user disable --now $(SOCKETS); systemctl --user stop kistd.service"

deb: $(BIN)/kistd $(BIN)/kist $(addprefix $(SHARE)/,$(SHARED)) ## Make the Debian package .build-release/kist_*.deb
	@scripts/install-packages debhelper
	@rm -rf .build-release/deb .build-release/kist_*.deb && mkdir -p .build-release/deb && cp -r debian .build-release/deb
	@cd .build-release/deb && KIST=$(CURDIR) DEB_RULES_REQUIRES_ROOT=no \
	  SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git -C $(CURDIR) log -1 --format=%ct)} debian/rules binary
	@echo "made: $$(ls .build-release/kist_*.deb)"

test-deb: deb ## Install, use and purge the package on booted Debian 12 and 13, as root
	@scripts/install-packages debian-archive-keyring debootstrap lintian man-db mandoc systemd-container \
	  util-linux
	@set -e; oldest=$$(scripts/systemd-tree bookworm); newest=$$(scripts/systemd-tree trixie); \
	KIST_DEBIAN_12=$$oldest KIST_DEBIAN_13=$$newest /usr/bin/python3 -B -m unittest discover -s Tests/Packages

lint: ## Check the formatting, and the words of documentation, comments, texts and test names
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks Examples
	scripts/check-words

format: ## Format the sources in place
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks Examples

clean: ## Remove what was built
	rm -rf .build .build-asan .build-fuzz .build-release .build-tsan .build-without-keyring Examples/.build

# kist: build, test, try, install. `make help` lists the targets.

PREFIX ?= $(HOME)/.local
# Where systemd looks for user units: one directory for a single user, another one for all users.
HOME_UNITS := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/systemd/user
UNITS ?= $(if $(filter $(HOME)/%,$(PREFIX)),$(HOME_UNITS),$(PREFIX)/lib/systemd/user)
SOCKETS := $(notdir $(wildcard systemd/*.socket))
SWIFT ?= swift
# Swift 6.3 passes the names of the traits to the compiler in random order, and compiles everything again when the
# order changes. Without random hashing, the order is always the same. The tests run with random hashing.
BUILD := SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build
# Imports that the manifest does not declare are errors.
CHECKED := --explicit-target-dependency-import-check error
# The number of parallel tests. It is low enough that no test misses its deadlines on a busy machine.
WIDTH := --experimental-maximum-parallelization-width 16
TEST := $(SWIFT) test --skip-build
# The directory of the release builds of the two programs.
BIN := .build-release/bin
# With a static standard library, a program starts faster, and runs on machines without Swift. Link-time
# optimisation works on the whole program. There is no debugging information.
RELEASE := -c release --static-swift-stdlib --experimental-lto-mode=full -Xswiftc -use-ld=lld -Xswiftc -gnone -Xcc -g0
# kistd is linked to the system's libsodium and SQLite, and kist-secret-service to libsystemd and libgcrypt, too.
# They resolve all symbols of libraries at the start (-z now),
# because a later lookup saves vector registers on the stack, and these may contain secrets.
# The other options save memory: packed relocations; no table of the program's own symbols, which no library looks
# up; and a static libstdc++, of which Swift's runtime needs only a few functions. The linker finds it in
# LIBSTDCXX first.
LIBSTDCXX := .build-release/libstdc++
DYNAMIC := $(RELEASE) -Xlinker -z -Xlinker now -Xlinker -z -Xlinker pack-relative-relocs \
  -Xlinker --no-export-dynamic -Xswiftc -L$(CURDIR)/$(LIBSTDCXX) --scratch-path .build-release/dynamic
# kist is linked statically, which halves the time of its start. The tarball has such a kistd, too. It cannot
# load libsecret, and has no keyring. The compiler uses the option, too. So these builds have their own scratch
# directory: in one directory, each build would compile everything again.
STATIC := $(RELEASE) -Xswiftc -static-executable --disable-default-traits --scratch-path .build-release/static
DIST := kist-$(shell sed -n 's/.*current = "\(.*\)"/\1/p' Sources/KistCore/Values/KistVersion.swift)-linux-$(shell uname -m)

# The options of `make bench`. With --check, it fails if a bound is missed.
BENCH ?= --update-docs

# The manual pages and the shells' completion, with their paths below PREFIX/share.
SHARE := .build-release/share
COMPLETIONS := bash-completion/completions/kist fish/vendor_completions.d/kist.fish zsh/site-functions/_kist
# bash and fish look for completion under the name of the program. The scripts of kist are for kistd, too.
COMPLETION_LINKS := bash-completion/completions/kistd fish/vendor_completions.d/kistd.fish
# A page for each command that docs/cli.md lists.
COMMANDS := $(shell sed -n 's/^| \[`kist \([a-z]*\)`\].*/\1/p' docs/cli.md)
PAGES := $(patsubst %,man/man1/%.1,kist $(addprefix kist-,$(COMMANDS))) man/man7/kist-protocol.7 man/man7/kist-troubleshooting.7 man/man8/kistd.8 man/man8/kist-secret-service.8
SHARED := $(COMPLETIONS) $(PAGES)

# The names by which other tools call kist, except `keyring`, which may belong to another program.
HELPERS := git-credential-kist docker-credential-kist cargo-credential-kist terraform-credentials-kist kist-askpass

.PHONY: help etcd release-etcd etcd-protocol install-etcd test-cluster test-cluster-short demo-cluster docs test-transcript test-without-keyring deps deps-build build release test test-release test-keyrings test-simulation test-systemd test-integrations test-secret-service test-keyring-programs test-tsan test-tsan-short test-asan test-asan-short test-examples deb test-deb dist test-dist leaks torture torture-short fuzz fuzz-short fuzz-coverage demo install uninstall bench bench-guard bench-etcd bench-shared bench-secret-service lint format clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 25

deps-build: ## Install the Debian packages that building and the demo need
	@scripts/install-packages pkg-config libsecret-1-dev libgcrypt20-dev libglib2.0-dev libsodium-dev libsqlite3-dev libsystemd-dev python3 socat

deps: deps-build ## Also install the Debian packages that the tests need
	@scripts/install-packages age bubblewrap dbus-daemon gcc gcr gnome-keyring gnupg keepassxc libc6-dev libglib2.0-bin libsecret-tools pass \
	  pinentry-gtk2 python3-cryptography python3-dbus python3-gi python3-nacl strace util-linux xdg-desktop-portal xdotool xvfb

build: deps-build ## Build everything for debugging
	$(BUILD) --build-tests $(CHECKED)

release: deps-build ## Build kistd, kist and kist-secret-service for use
	@mkdir -p $(LIBSTDCXX)
	@-ln -sf "$$("$$(dirname "$$(command -v $(SWIFT))")/clang" -print-file-name=libstdc++.a)" $(LIBSTDCXX)
	$(BUILD) $(DYNAMIC) --product kistd
	$(BUILD) $(DYNAMIC) --product kist-secret-service
	$(BUILD) $(STATIC) --product kist
	@# The copies have no symbols, which are a third of a program. The built files keep them.
	@install -s -D -m 755 -t $(BIN) .build-release/dynamic/release/kistd .build-release/static/release/kist \
	  .build-release/dynamic/release/kist-secret-service
	@$(MAKE) --no-print-directory $(addprefix $(SHARE)/,$(SHARED))

# gRPC compiles for ten minutes, so only the builds of kist-etcd have the trait Etcd, in directories of their own.
ETCD := --traits Etcd --product kist-etcd
etcd: deps-build ## Build kist-etcd for debugging
	$(BUILD) $(ETCD) $(CHECKED) --scratch-path .build-etcd

release-etcd: deps-build ## Build kist-etcd for use
	@mkdir -p $(LIBSTDCXX)
	@-ln -sf "$$("$$(dirname "$$(command -v $(SWIFT))")/clang" -print-file-name=libstdc++.a)" $(LIBSTDCXX)
	$(BUILD) $(filter-out --scratch-path .build-release/dynamic,$(DYNAMIC)) $(ETCD) --scratch-path .build-release/etcd
	@install -s -D -m 755 -t $(BIN) .build-release/etcd/release/kist-etcd
	@$(MAKE) --no-print-directory $(SHARE)/man/man8/kist-etcd.8

etcd-protocol: ## Generate the Swift code for the calls of etcd
	@scripts/install-packages protobuf-compiler
	SWIFT=$(SWIFT) scripts/etcd-protocol

test-cluster: release-etcd build ## Test kist-etcd, and vaults behind it, with the etcd of Debian 12 and 13, with faults, as root
	@scripts/install-packages debian-archive-keyring gcc iproute2 iptables libc6-dev mmdebstrap openssl strace \
	  systemd-container util-linux
	@set -e; KIST_DEBIAN_12=$$(scripts/systemd-tree bookworm); KIST_DEBIAN_13=$$(scripts/systemd-tree trixie); \
	KIST_ETCD_34=$$(scripts/etcd-programs bookworm); KIST_ETCD_35=$$(scripts/etcd-programs trixie); \
	export KIST_DEBIAN_12 KIST_DEBIAN_13 KIST_ETCD_34 KIST_ETCD_35; \
	SWIFT=$(SWIFT) CI=1 KIST_ETCD=$(CURDIR)/$(BIN)/kist-etcd /usr/bin/python3 -B -m unittest discover -v -s Tests/Cluster

test-cluster-short: etcd build ## Test kist-etcd and a vault with the etcd of Debian 13, also while nodes are killed, as root
	@scripts/install-packages debian-archive-keyring iproute2 openssl
	@set -e; KIST_ETCD_35=$$(scripts/etcd-programs trixie); export KIST_ETCD_35; \
	CI=1 KIST_ETCD=$(CURDIR)/.build-etcd/debug/kist-etcd /usr/bin/python3 -B -m unittest discover -v -s Tests/Cluster \
	  -k 'OneNode with etcd 3.5' -k 'SmallQuota with etcd 3.5' -k 'Disks with etcd 3.5' -k 'Faults with etcd 3.5.test_each_node_is_killed' \
	  -k 'Faults with etcd 3.5.test_history_is_compacted'

test: deps build ## Run the tests that take less than five minutes
	$(TEST) $(WIDTH) --skip KistLibsecretTests --skip KistSecretServiceTests --skip EndToEndTests --skip SystemdTests
	/usr/bin/python3 Tests/Reader/test_vectors.py
	/usr/bin/python3 -B -m unittest discover -s Tests/Cluster -p test_history.py
	$(call REPEAT_SEEDS,.build/debug/KistSimulation)
	$(TEST) --filter KistSecretServiceTests

# Runs the schedules that find bugs of the past, with the named program.
REPEAT_SEEDS = @grep '^[a-z]' Tests/KistSimulation/seeds.txt | while read -r seed; do \
	  SWIFT_DETERMINISTIC_HASHING=1 $(1) $$seed 1 || exit; done

SCHEDULES ?= 1000
FIRST_SEED ?= 1
test-simulation: deps-build ## Run SCHEDULES schedules of each simulation of a shared vault
	$(BUILD) -c release --product KistSimulation --scratch-path .build-simulation
	$(call REPEAT_SEEDS,.build-simulation/release/KistSimulation)
	@for experiment in faults lies losses linearizability; do \
	  SWIFT_DETERMINISTIC_HASHING=1 .build-simulation/release/KistSimulation $$experiment $(FIRST_SEED) $(SCHEDULES) || exit; done

test-release: deps release build ## Run the end-to-end tests on the release builds
	KIST_PROGRAMS=$(CURDIR)/$(BIN) $(TEST) $(WIDTH) --filter EndToEndTests

test-keyrings: deps build ## Test kist with real keyrings
	$(TEST) --filter KistLibsecretTests

test-systemd: release build ## Boot systemd 252 and 257 in containers and test kist there, as root
	@scripts/install-packages debian-archive-keyring mmdebstrap systemd-container util-linux
	@set -e; oldest=$$(scripts/systemd-tree bookworm); newest=$$(scripts/systemd-tree trixie); \
	KIST_SYSTEMD_252=$$oldest KIST_SYSTEMD_257=$$newest $(TEST) --filter SystemdTests

test-transcript: release ## Run the sessions of Tests/Transcript, on a terminal and without one
	Tests/Transcript/run $(BIN)

# The programs that use a keyring, and what shows their windows without a screen.
KEYRING_PROGRAMS := adwaita-icon-theme at-spi2-core chromium dbus-bin dbus-daemon fonts-dejavu-core gcc gh \
  gir1.2-atspi-2.0 gir1.2-secret-1 git golang-docker-credential-helpers imagemagick libc6-dev libglib2.0-bin libsecret-1-dev \
  libsecret-tools pkg-config python3-gi python3-venv seahorse xdotool xvfb

test-secret-service: release ## Test kist-secret-service with the real secret-tool, Python's keyring, Chromium and others
	@scripts/install-packages $(KEYRING_PROGRAMS)
	@set -e; tools=$$(scripts/python-tools); export KIST_PROGRAMS=$(CURDIR)/$(BIN) PYTHONDONTWRITEBYTECODE=1; \
	PATH=$$tools:$$PATH /usr/bin/python3 -m unittest discover -s Tests/Integrations -p 'test_secret_service*.py'

# What else the trees need: Debian's Python modules in place of pip's, a pinentry, and a library of kist's package.
TREE_PROGRAMS := $(KEYRING_PROGRAMS) libgcrypt20 pinentry-gtk2 python-is-python3 python3-jeepney python3-keyring \
  python3-secretstorage

test-keyring-programs: deb ## Test kist's package with the programs of Debian 12 and 13 that use a keyring, as root
	@scripts/install-packages debian-archive-keyring mmdebstrap systemd-container util-linux
	@set -e; oldest=$$(scripts/systemd-tree bookworm programs $(TREE_PROGRAMS)); \
	newest=$$(scripts/systemd-tree trixie programs $(TREE_PROGRAMS) flatpak xdg-desktop-portal); \
	KIST_DEBIAN_12=$$oldest KIST_DEBIAN_13=$$newest /usr/bin/python3 -B -m unittest discover -s Tests/Packages -p 'test_programs.py'

test-integrations: release ## Test kist with the real git, docker, cargo, AWS, kubectl and others
	@scripts/install-packages ansible-core bash borgbackup curl dbus-daemon fish git gnome-keyring gradle isync keepassxc \
	  libglib2.0-bin libsecret-tools mariadb-client-core mariadb-server-core maven msmtp openssh-client openssl podman \
	  postgresql python3-jsonschema python3-venv rclone restic skopeo strace wget xz-utils zsh $(KEYRING_PROGRAMS)
	@command -v npm >/dev/null || scripts/install-packages npm
	@command -v kubectl >/dev/null || scripts/install-packages kubernetes-client
	@command -v docker >/dev/null || scripts/install-packages docker.io
	@command -v cargo >/dev/null || scripts/install-packages cargo
	@set -e; tools=$$(scripts/python-tools); export KIST_PROGRAMS=$(CURDIR)/$(BIN) PYTHONDONTWRITEBYTECODE=1; \
	PATH=$$tools:$$PATH /usr/bin/python3 -m unittest discover -s Tests/Integrations; \
	$$tools/python -m pytest -q -p no:cacheprovider integrations/python/tests

test-examples: ## Build and test the program of Examples, which uses kist from outside
	$(SWIFT) test --package-path Examples

test-tsan: deps ## Run the tests and the programs under Thread Sanitizer
	@scripts/install-packages binutils
	SWIFT=$(SWIFT) Tests/Sanitizers/run thread

test-tsan-short: deps ## Run the tests without programs and keyrings under Thread Sanitizer
	@scripts/install-packages binutils
	SWIFT=$(SWIFT) Tests/Sanitizers/run thread short

test-asan: deps ## Run the tests and the programs under Address Sanitizer
	SWIFT=$(SWIFT) Tests/Sanitizers/run address

test-asan-short: deps ## Run the tests without programs and keyrings under Address Sanitizer
	SWIFT=$(SWIFT) Tests/Sanitizers/run address short

leaks: deps release build ## Look for memory leaks of kistd on a keyring: many rounds, and a few under valgrind
	@scripts/install-packages binutils valgrind
	BIN=$(CURDIR)/$(BIN) SYMBOLS=$(CURDIR)/.build-release/dynamic/release/kistd SWIFT=$(SWIFT) scripts/leaks

TORTURE_SECONDS ?= 600
torture: release deps ## Attack kist's promises; endless parts run for TORTURE_SECONDS each
	@scripts/install-packages gcc libc6-dev python3-jeepney strace
	Tests/Torture/run --bin $(BIN) --seconds $(TORTURE_SECONDS)

torture-short: release deps ## Run a sample of each attack of `make torture`
	@scripts/install-packages gcc libc6-dev python3-jeepney strace
	Tests/Torture/run --bin $(BIN) --short

FOR ?= 600
fuzz: deps-build ## Fuzz the parsers, or one TARGET, for FOR seconds each
	FOR=$(FOR) TARGET=$(TARGET) SWIFT=$(SWIFT) Tests/Fuzz/run

docs: ## Build the pages of the library KistClient, .build-docs/KistClient.doccarchive
	rm -rf .build-docs
	$(BUILD) --quiet --target KistClient --scratch-path .build-docs -Xswiftc -emit-symbol-graph \
	  -Xswiftc -emit-symbol-graph-dir -Xswiftc $(CURDIR)/.build-docs/graphs
	# The pages do not include the internal modules that KistClient uses.
	cd .build-docs/graphs && rm -f KistCore*.json KistJSON*.json KistWire*.json
	docc convert Sources/KistClient/KistClient.docc --additional-symbol-graph-dir .build-docs/graphs \
	  --output-dir .build-docs/KistClient.doccarchive --fallback-display-name KistClient \
	  --fallback-bundle-identifier kist.KistClient --warnings-as-errors --transform-for-static-hosting

fuzz-short: deps-build ## Run the corpus, and fuzz each parser for 3 seconds
	TARGET=$(TARGET) SWIFT=$(SWIFT) Tests/Fuzz/run short

fuzz-coverage: deps-build ## Show how many lines of the parsers the corpus covers
	TARGET=$(TARGET) SWIFT=$(SWIFT) Tests/Fuzz/run coverage $(FILE)

test-without-keyring: deps-build ## Build kistd without the trait Libsecret, as for the tarball, and test it
	$(BUILD) $(STATIC) --product kistd
	$(BUILD) $(STATIC) --product kist
	@BIN=$(CURDIR)/.build-release/static/release scripts/check-without-keyring

demo: release ## Save, load, list and delete on a new store, and show the session
	@BIN=$(CURDIR)/$(BIN) scripts/demo

bench: deps release ## Compare kist with its peers and the physical limits, and update docs/performance.md
	@scripts/install-packages gcc git gnupg libc6-dev openssh-client pass python3-keyring \
	  python3-matplotlib python3-secretstorage
	Benchmarks/run --bin $(BIN) $(BENCH)

bench-secret-service: deps release ## Compare kist-secret-service with gnome-keyring and the least possible provider
	@scripts/install-packages gcc libsystemd-dev
	Benchmarks/secret-service --bin $(BIN) --check

bench-etcd: release-etcd ## Compare a commit of kist-etcd with a put of etcd, and measure its memory
	@scripts/install-packages debian-archive-keyring openssl
	@set -e; KIST_ETCD_34=$$(scripts/etcd-programs bookworm); KIST_ETCD_35=$$(scripts/etcd-programs trixie); \
	export KIST_ETCD_34 KIST_ETCD_35; /usr/bin/python3 -B Benchmarks/etcd --check $(BIN)/kist-etcd

bench-shared: release release-etcd ## Compare shared vaults with the encrypted file and with etcd, with 100,000 credentials and 100 machines
	@scripts/install-packages debian-archive-keyring gcc libc6-dev libglib2.0-dev libsecret-1-dev libsqlite3-dev libsystemd-dev openssl
	@set -e; KIST_ETCD_34=$$(scripts/etcd-programs bookworm); KIST_ETCD_35=$$(scripts/etcd-programs trixie); \
	export KIST_ETCD_34 KIST_ETCD_35; /usr/bin/python3 -B Benchmarks/shared --check

bench-guard: release ## Measure the cost of a load and a save, and compare it with the baseline
	@scripts/install-packages binutils python3 strace valgrind
	Benchmarks/guard --bin $(BIN)

# Builds the programs only if they are missing or older than a source: the user who installs may have no compiler.
# Not $$(MAKE), which `make -n` would run: it builds nothing, so the two rules would call each other without end.
$(BIN)/kistd $(BIN)/kist $(BIN)/kist-secret-service &: $(shell find Package.swift Sources -type f)
	$(MAKE_COMMAND) release

.DELETE_ON_ERROR:
$(addprefix $(SHARE)/,$(PAGES) man/man8/kist-etcd.8): scripts/man-page $(wildcard docs/*.md) Sources/KistCore/Values/KistVersion.swift
	@mkdir -p $(@D)
	@scripts/man-page $(basename $(@F)) > $@

$(SHARE)/bash-completion/completions/kist: completions/kist.bash
$(SHARE)/fish/vendor_completions.d/kist.fish: completions/kist.fish
$(SHARE)/zsh/site-functions/_kist: completions/kist.zsh
$(addprefix $(SHARE)/,$(COMPLETIONS)): scripts/completion $(BIN)/kist $(BIN)/kistd
	@mkdir -p $(@D)
	scripts/completion $(patsubst completions/kist.%,%,$(filter completions/%,$^)) $(BIN) > $@

# If the user cannot read a program, other programs of the user cannot read its memory from its first instruction on,
# because exec(2) makes it undumpable. A program can also make itself undumpable, but until then others can open its memory.
# Programs of root or of a package have mode 711, and programs of a user 111, so that the user cannot read them either.
PROGRAM_MODE = $(if $(DESTDIR)$(filter 0,$(shell id -u)),711,111)
install: $(BIN)/kistd $(BIN)/kist $(addprefix $(SHARE)/,$(SHARED)) ## Install kist under PREFIX (default ~/.local)
	@case '$(PREFIX)' in (/*) ;; (*) echo "PREFIX is not an absolute path" >&2; exit 1; esac
	@case '$(PREFIX)$(UNITS)' in (*[!A-Za-z0-9/._@+-]*) \
	  echo "PREFIX has a character that systemd or make reads as something else; name another one" >&2; exit 1; esac
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(UNITS) $(addprefix $(DESTDIR)$(PREFIX)/share/,doc/kist $(sort $(dir $(SHARED))))
	install -m $(PROGRAM_MODE) $(BIN)/kistd $(BIN)/kist $(DESTDIR)$(PREFIX)/bin
	for name in $(SHARED); do install -m 644 $(SHARE)/$$name $(DESTDIR)$(PREFIX)/share/$$name || exit; done
	for name in $(COMPLETION_LINKS); do ln -sf kist$${name##*/kistd} $(DESTDIR)$(PREFIX)/share/$$name; done
	scripts/install-docs $(DESTDIR)$(PREFIX)/share/doc/kist
	for name in $(HELPERS); do ln -sf kist $(DESTDIR)$(PREFIX)/bin/$$name; done
	for name in $(HELPERS); do ln -sf kist-helper.1 $(DESTDIR)$(PREFIX)/share/man/man1/$$name.1; done
	install -m 644 systemd/*.socket systemd/kistd-directories.service $(DESTDIR)$(UNITS)
	sed 's|/usr/bin/kistd|$(PREFIX)/bin/kistd|' systemd/kistd.service > $(DESTDIR)$(UNITS)/kistd.service
	@# A build without the trait SecretService has no such program.
	if [ -e $(BIN)/kist-secret-service ]; then \
	  install -m $(PROGRAM_MODE) $(BIN)/kist-secret-service $(DESTDIR)$(PREFIX)/bin && \
	  sed 's|/usr/bin/kist-secret-service|$(PREFIX)/bin/kist-secret-service|' systemd/kist-secret-service.service \
	    > $(DESTDIR)$(UNITS)/kist-secret-service.service; fi
	@echo "installed; save a first secret: kist save SERVICE ACCOUNT"
	@echo "for programs other than kist, and for units: systemctl --user enable --now $(SOCKETS)"
	@case ":$$PATH:" in (*:'$(PREFIX)/bin':*) ;; (*) echo 'put it into PATH: export PATH="$(PREFIX)/bin:$$PATH"' ;; esac

install-etcd: release-etcd ## Install kist-etcd, its unit and its manual page under PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(UNITS) $(DESTDIR)$(PREFIX)/share/man/man8
	install -m $(PROGRAM_MODE) $(BIN)/kist-etcd $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(SHARE)/man/man8/kist-etcd.8 $(DESTDIR)$(PREFIX)/share/man/man8
	sed 's|/usr/bin/kist-etcd|$(PREFIX)/bin/kist-etcd|' systemd/kist-etcd.service > $(DESTDIR)$(UNITS)/kist-etcd.service

uninstall: ## Stop the service, and remove the programs and units, never the data
	@-[ -n "$(DESTDIR)" ] || { systemctl --user disable --now $(SOCKETS) && systemctl --user stop kistd.service; } 2>/dev/null
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,kistd kist kist-secret-service kist-etcd $(HELPERS))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/,$(SHARED) $(COMPLETION_LINKS) $(patsubst %,man/man1/%.1,$(HELPERS)) man/man8/kist-etcd.8)
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/kist
	rm -f $(addprefix $(DESTDIR)$(UNITS)/,$(notdir $(wildcard systemd/*)))
	@-[ -n "$(DESTDIR)" ] || systemctl --user daemon-reload 2>/dev/null
	@echo "removed; the data is where it was. Each other user who had enabled it stops it with:" \
	  "systemctl --user disable --now $(SOCKETS); systemctl --user stop kistd.service"

AT ?=
demo-cluster: ## Run three nodes of etcd with certificates on loopback, in the directory AT
	@# On a machine with systemd, the package etcd-server also starts a node on loopback, which the demo does not use.
	@scripts/install-packages etcd-client etcd-server openssl
	@scripts/demo-cluster "$(AT)"

deb: $(BIN)/kistd $(BIN)/kist $(addprefix $(SHARE)/,$(SHARED)) ## Make the Debian package .build-release/kist_*.deb
	@scripts/install-packages debhelper
	@rm -rf .build-release/deb .build-release/kist_*.deb && mkdir -p .build-release/deb && cp -r debian .build-release/deb
	@cd .build-release/deb && KIST=$(CURDIR) DEB_RULES_REQUIRES_ROOT=no \
	  SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git -C $(CURDIR) log -1 --format=%ct)} debian/rules binary
	@echo "made: $$(ls .build-release/kist_*.deb)"

test-deb: deb ## Install, use and purge the package on booted Debian 12 and 13, as root
	@scripts/install-packages debian-archive-keyring lintian man-db mandoc mmdebstrap systemd-container \
	  util-linux
	@set -e; oldest=$$(scripts/systemd-tree bookworm); newest=$$(scripts/systemd-tree trixie); \
	KIST_DEBIAN_12=$$oldest KIST_DEBIAN_13=$$newest /usr/bin/python3 -B -m unittest discover -s Tests/Packages -p 'test_deb.py'

dist: release ## Make the tarball .build-release/dist/kist-*.tar.gz, which needs no other library
	$(BUILD) $(STATIC) --product kistd
	@rm -rf .build-release/dist
	@$(MAKE) --no-print-directory install DESTDIR=$(CURDIR)/.build-release/dist PREFIX=/usr UNITS=/usr/lib/systemd/user >/dev/null
	@# It needs libsystemd, of which Debian has no static library. Its unit and its manual page are useless without it.
	@find .build-release/dist -name 'kist-secret-service*' -delete
	@mv .build-release/dist/usr .build-release/dist/$(DIST)
	@install -s -m 755 .build-release/static/release/kistd .build-release/dist/$(DIST)/bin
	@install -m 755 scripts/install-tarball .build-release/dist/$(DIST)/install.sh
	@install -m 644 LICENSE .build-release/dist/$(DIST)
	@cat .build-release/static/checkouts/*/NOTICE.txt > .build-release/dist/$(DIST)/NOTICE
	@cd .build-release/dist && tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
	  --mode=u=rwX,go=rX --mtime=@$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(DIST) | gzip --no-name --best > $(DIST).tar.gz
	@cd .build-release/dist && sha256sum $(DIST).tar.gz > $(DIST).tar.gz.sha256
	@echo "made: .build-release/dist/$(DIST).tar.gz"

test-dist: dist deb ## Use kist in Debian 12 and 13, with the recipes of the documentation and a first hour, as root
	@scripts/install-packages age ansible-core debian-archive-keyring mmdebstrap openssh-client openssh-server \
	  openssh-sftp-server python3-yaml strace systemd-container util-linux
	@set -e; oldest=$$(scripts/systemd-tree bookworm bare); newest=$$(scripts/systemd-tree trixie bare); \
	export KIST_DESKTOP_12=$$(scripts/systemd-tree bookworm) KIST_DESKTOP_13=$$(scripts/systemd-tree trixie); \
	cd Tests/Packages && KIST_DEBIAN_12=$$oldest KIST_DEBIAN_13=$$newest \
	/usr/bin/python3 -B -m unittest test_tarball test_ci test_machines test_readme test_first_hour

lint: ## Check the formatting, and the words of documentation, comments, texts and test names
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks Examples
	scripts/check-words

format: ## Format the sources in place
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks Examples

clean: ## Remove all build directories
	rm -rf .build .build-asan .build-etcd .build-fuzz .build-release .build-simulation .build-tsan Examples/.build

# Two commands do everything on a fresh machine with a Rust toolchain: `make run` and `make test`.
SHELL := /bin/bash
CARGO ?= cargo
PORT ?= 8080
BINARY = $${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug/duologue

.PHONY: run chat test browser lint tools postgres chromium help

help: ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

run: tools ## Open the console: customer and manager side by side in a browser, offline, no key (PORT=8080)
	@$(CARGO) build --quiet && $(BINARY) serve --demo --address 127.0.0.1:$(PORT)

chat: tools ## Converse with both bots in the terminal, offline, no key
	@$(CARGO) run --quiet -- chat

test: tools postgres ## Run every test, beside a throw-away PostgreSQL
	ORACLE_SECONDS=$${ORACLE_SECONDS:-90} scripts/with-postgres $(CARGO) test --locked --no-fail-fast $(TEST_FLAGS)
	@$(MAKE) --no-print-directory browser

browser: tools chromium ## Test the console in a real browser, installed if it can be
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null || ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then \
	  echo "SKIPPED: the console's browser tests need node, npm and chromium (on Debian: apt-get install nodejs npm chromium)"; \
	elif ! (cd tests/browser && npm ci --silent); then \
	  echo "SKIPPED: the console's browser tests need playwright-core and axe-core, which npm could not fetch"; \
	else $(CARGO) build --quiet --locked && cd tests/browser && DUOLOGUE=$(BINARY) node --test --test-concurrency=1 console.test.mjs; fi

lint: tools ## Formatting and lints, as CI runs them
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings

# clingo is C++ and is built from source once: cmake and a C++ compiler are all it needs.
tools:
	@command -v $(CARGO) >/dev/null || { echo "There is no Rust toolchain: install rustup (see https://rustup.rs), then run this again."; exit 1; }
	@if ! command -v cmake >/dev/null || ! command -v c++ >/dev/null; then \
	  echo "Installing cmake and a C++ compiler (clingo is built from source)…"; \
	  sudo=$$( [ $$(id -u) = 0 ] || command -v sudo ); \
	  if command -v apt-get >/dev/null; then $$sudo apt-get update -qq && $$sudo apt-get install -y -qq cmake g++; \
	  elif command -v dnf >/dev/null; then $$sudo dnf install -y cmake gcc-c++; \
	  elif command -v pacman >/dev/null; then $$sudo pacman -S --noconfirm cmake gcc; \
	  elif command -v brew >/dev/null; then brew install cmake; \
	  else echo "Install cmake and a C++ compiler, then run this again."; exit 1; fi; fi

# Installs Debian's packages for the tests alone, where nobody has to be asked: as root, or with a sudo that wants no password.
for_tests = if command -v apt-get >/dev/null && { [ $$(id -u) = 0 ] || sudo -n true 2>/dev/null; }; then \
	    sudo=$$( [ $$(id -u) = 0 ] || command -v sudo ); echo "Installing$(1) (for the tests alone)…"; \
	    $$sudo apt-get update -qq; $$sudo env DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y -qq --no-install-recommends$(1) || true; fi

# The tests start a server of their own; without one they say that they leave its tests out.
postgres:
	@if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb >/dev/null 2>&1; then \
	  $(call for_tests, postgresql); fi

chromium:
	@need=; command -v node >/dev/null && command -v npm >/dev/null || need=" nodejs npm"; \
	{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || need="$$need chromium"; \
	if [ -n "$$need" ]; then $(call for_tests,$$need); fi

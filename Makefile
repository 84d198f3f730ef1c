# Two commands do everything on a fresh machine with a Rust toolchain: `make run` and `make test`.
SHELL := /bin/bash
CARGO ?= cargo

.PHONY: run test lint tools help

help: ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

run: tools ## Converse with both bots in the terminal, offline, no key
	@$(CARGO) run --quiet -- chat

test: tools ## Run every test
	ORACLE_SECONDS=$${ORACLE_SECONDS:-90} $(CARGO) test --locked --no-fail-fast

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

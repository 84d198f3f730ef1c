#!/bin/sh
# Checks constrained output against a real server that nobody here wrote: llama.cpp with a tiny random model.
#   scripts/llama_cpp_check.sh                   needs Python 3 and a package index for pip
#   PACKAGE='llama-cpp-python[server]'           that package's server instead; pip builds it, which takes ten minutes of two
#                                                cores, a C++ compiler and cmake
#   PYTHON=...                                   an interpreter that has one of the two and gguf already
#   TURNS=200                                    how many turns
set -eu
cd "$(dirname "$0")/.."
work="${CARGO_TARGET_DIR:-target}/llama_cpp_check"
mkdir -p "$work"
if [ -z "${PYTHON:-}" ]; then
    PYTHON="$work/venv/bin/python"
    [ -x "$PYTHON" ] || python3 -m venv "$work/venv"
    "$PYTHON" -m pip install --quiet "${PACKAGE:-xllamacpp==2026.10.11549}" gguf
fi
"$PYTHON" scripts/tiny_gguf.py "$work/tiny.gguf"
port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$PYTHON" scripts/llama_cpp_serve.py "$work/tiny.gguf" "$port" >"$work/server.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT INT TERM
tries=0
until "$PYTHON" -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/v1/models', timeout=2)" 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 120 ] || ! kill -0 "$server" 2>/dev/null; then
        tail -20 "$work/server.log"
        exit 1
    fi
    sleep 1
done
DUOLOGUE_CHECK_URL="http://127.0.0.1:$port/v1" DUOLOGUE_CHECK_TURNS="${TURNS:-200}" \
    cargo test --test llm real_server -- --ignored --nocapture

#!/bin/sh
# Checks constrained output against a real server that nobody here wrote: llama-cpp-python with a tiny random model.
# It builds llama.cpp (ten minutes and more of one core the first time), so CI leaves it out.
#   scripts/llama_cpp_check.sh            needs Python 3, a C++ compiler, cmake, and a package index for pip
#   PYTHON=/path/to/python                uses an interpreter that has llama_cpp[server] and gguf already
#   TURNS=200                             how many turns
set -eu
cd "$(dirname "$0")/.."
work="${CARGO_TARGET_DIR:-target}/llama_cpp_check"
mkdir -p "$work"
if [ -z "${PYTHON:-}" ]; then
    PYTHON="$work/venv/bin/python"
    [ -x "$PYTHON" ] || python3 -m venv "$work/venv"
    "$PYTHON" -c 'import llama_cpp.server, gguf' 2>/dev/null || "$PYTHON" -m pip install --quiet 'llama-cpp-python[server]' gguf
fi
"$PYTHON" scripts/tiny_gguf.py "$work/tiny.gguf"
port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$PYTHON" -m llama_cpp.server --model "$work/tiny.gguf" --host 127.0.0.1 --port "$port" --n_ctx 32768 --n_threads 1 >"$work/server.log" 2>&1 &
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

"""Serves a GGUF file with llama.cpp's own HTTP server, from whichever package has it.

Usage: python llama_cpp_serve.py MODEL.gguf PORT

llama-cpp-python is built from source by pip; xllamacpp comes ready built and holds llama.cpp's own server.
"""

import os
import sys
import threading

model, port = sys.argv[1], sys.argv[2]
try:
    import llama_cpp.server  # noqa: F401

    # The server takes this process's place, so that whoever ends this process ends the server.
    arguments = ["--model", model, "--host", "127.0.0.1", "--port", port, "--n_ctx", "32768", "--n_threads", "1"]
    os.execv(sys.executable, [sys.executable, "-m", "llama_cpp.server", *arguments])
except ImportError:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = 32768
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print("serving on", server.listening_address, flush=True)
    threading.Event().wait()

# Runs an author's functions in a process of its own: one call a line on the standard input, one answer a line on what was the standard output.
import asyncio, importlib.util, inspect, io, json, os, sys, traceback

calls = os.fdopen(os.dup(0), "r", encoding="utf-8")
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nothing, stream)
setup = json.loads(sys.argv[1])
# What starts Python may be a script that sets variables of its own.
for name in set(os.environ) - set(setup["environment"]):
    del os.environ[name]
try:
    import resource

    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        resource.setrlimit(limit, (setup["memory"], setup["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass


class TooMuchOutput(BaseException):
    pass


class Printed(io.StringIO):
    size = 0

    def write(self, text):
        self.size += len(text)
        if self.size > setup["output"]:
            raise TooMuchOutput()
        return super().write(text)


def answer(what):
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def told(error):
    return f"{type(error).__name__}: {error}"


def plain(result):
    # A tuple is no list of items, which JSON could not tell.
    return str(result) if isinstance(result, tuple) else result


sys.path.insert(0, os.getcwd())
modules, failed = {}, []
for file in setup["files"]:
    name = os.path.splitext(os.path.basename(file))[0]
    sys.stdout = sys.stderr = Printed()
    try:
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        modules[file] = module
    except BaseException as error:
        own = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        line = error.lineno if isinstance(error, SyntaxError) else (own[-1] if own else 1)
        failed.append({"file": file, "line": line or 1, "message": told(error)})
answer({"failed": failed})

for line in calls:
    call = json.loads(line)
    sys.stdout = printed = Printed()
    sys.stderr = Printed()
    try:
        function = getattr(modules[call["file"]], call["function"])
        result = function(**call["args"])
        if inspect.isawaitable(result):

            async def wait(awaited):
                return await awaited

            result = asyncio.run(wait(result))
        text = json.dumps(plain(result), default=str)
        if len(text) > setup["answer"]:
            raise TooMuchOutput()
        out = {"result": json.loads(text), "printed": printed.getvalue()}
    except TooMuchOutput:
        out = {"error": "too much output"}
    except BaseException as error:
        out = {"error": told(error)}
    answer(out)

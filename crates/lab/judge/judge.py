"""Grades one solution. Run as `python3 -I -B judge.py` in a folder of its own, contained, without network.

The folder holds `solution/` (the solver's files), `tests/` (the visible tests as they were given), `hidden/` (the acceptance
tests and `probe.py`) and `secret`. The solver's code is never loaded into this process: a test asks for a function of
`probe.py`, which runs in a process of its own and answers with plain JSON. Before the first of them starts, `hidden/` and
`secret` are gone from the disk. So a solution cannot read what is expected of it, nor touch the report, nor the tests.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys

for name in [name for name in os.environ if name.startswith(("PYTEST", "PYTHON"))]:
    del os.environ[name]
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
try:
    # Nobody reads the memory of this process through /proc.
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
except (OSError, AttributeError):
    pass

import pytest

ROOT = os.getcwd()
PATIENCE = 20
LARGEST = 4 * 1024 * 1024

HOST = """
import json, os, sys
out = os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
order = json.load(sys.stdin)
sys.path.append(order["path"])
def outcome(call, *arguments, **named):
    try:
        return {"value": call(*arguments, **named)}
    except Exception as error:
        return {"raised": [kind.__name__ for kind in type(error).__mro__], "message": str(error)}
space = {"__name__": "probe", "outcome": outcome}
try:
    exec(compile(order["source"], "probe.py", "exec"), space)
    answer = json.dumps({"value": space[order["function"]](*order["arguments"])})
except BaseException as error:
    answer = json.dumps({"error": f"{type(error).__name__}: {error}"[:2000]})
out.write(answer.encode())
out.flush()
os._exit(0)
"""

VISIBLE = """
import json, os, sys
out = os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
order = json.load(sys.stdin)
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
sys.path.append(order["path"])
class Count:
    passed = failed = 0
    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed += 1
        elif report.failed:
            self.failed += 1
    def pytest_collectreport(self, report):
        self.failed += bool(report.failed)
count = Count()
pytest.main(["tests", "-q", "--noconftest", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull, "--rootdir=.", "--confcutdir=tests"], plugins=[count])
out.write(json.dumps({"value": {"passed": count.passed, "failed": count.failed}}).encode())
out.flush()
os._exit(0)
"""


class Broken(Exception):
    """The solver's code gave no answer."""


def ask(program, order, flags=("-I", "-S", "-B")):
    """Runs a program in a process of its own and gives its answer."""
    order["path"] = os.path.join(ROOT, "solution")
    child = subprocess.Popen(
        [sys.executable, *flags, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        text, _ = child.communicate(json.dumps(order).encode(), timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Broken(f"no answer within {PATIENCE} s") from None
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.kill()
        child.wait()
    if len(text) > LARGEST:
        raise Broken("an answer without end")
    try:
        answer = json.loads(text)
    except ValueError:
        raise Broken("the process ended without an answer") from None
    if "error" in answer:
        raise Broken(answer["error"])
    return answer["value"]


class Judge:
    """What pytest tells of the hidden tests."""

    def __init__(self, source):
        self.source = source
        self.tests = {}
        self.errors = []

    @pytest.fixture
    def probe(self):
        def call(function, *arguments):
            return ask(HOST, {"source": self.source, "function": function, "arguments": arguments})

        return call

    def pytest_collection_finish(self, session):
        shutil.rmtree(os.path.join(ROOT, "hidden"))
        for item in session.items:
            self.tests[item.name] = {"passed": False, "why": "it was not run"}

    def pytest_collectreport(self, report):
        if report.failed:
            self.errors.append(str(report.longrepr)[-2000:])

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rsplit("::", 1)[-1]
        if report.when == "call" and report.outcome == "passed" and not hasattr(report, "wasxfail"):
            self.tests[name] = {"passed": True, "why": ""}
        elif report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message if crash else str(report.longrepr)
            self.tests[name] = {"passed": False, "why": why[:600]}


def main():
    with open("secret", encoding="utf-8") as file:
        secret = file.read()
    os.remove("secret")
    with open("hidden/probe.py", encoding="utf-8") as file:
        source = file.read()
    os.remove("hidden/probe.py")
    judge = Judge(source)
    options = ["-q", "--noconftest", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull]
    # Folders above are nobody's business, and some cannot be listed in the box.
    pytest.main(["hidden", *options, "--rootdir=hidden", "--confcutdir=hidden"], plugins=[judge])
    visible = {"passed": 0, "failed": 0}
    if os.path.isdir("tests"):
        try:
            visible = ask(VISIBLE, {}, flags=("-I", "-B"))
        except Broken as broken:
            visible = {"passed": 0, "failed": 1, "why": str(broken)}
    report = {"secret": secret, "tests": judge.tests, "errors": judge.errors, "visible": visible}
    # Whatever the solver's code left there goes; a name that it cannot foresee is moved into place.
    name = f"report-{secret}"
    with open(name, "w", encoding="utf-8") as file:
        json.dump(report, file)
    if os.path.isdir("report.json") and not os.path.islink("report.json"):
        shutil.rmtree("report.json")
    os.replace(name, "report.json")


main()

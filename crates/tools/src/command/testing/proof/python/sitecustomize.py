# Every Python that a verification starts runs this file before anything else, however it was started.
#
# Code under test shares the process with its runner, so it could print the runner's summary, write its report and end the
# process, or change the runner. Neither is possible by accident: both end the process as a failure. A process is guarded from
# the moment when it loads pytest or unittest.
import sys


def watch():
    # The project's own directories come later onto the search path, and may hold a `types.py`.
    own = __file__.rpartition("/")[0]
    outside = [place for place in sys.path if place and place != own]
    sys.path[:] = outside
    import atexit, importlib.abc, importlib.machinery, os, posix, types

    forged, pid, end = 70, os.getpid(), os._exit
    # A runner may take the standard streams for itself.
    errors = os.dup(2)
    words = getattr(sys, "orig_argv", None)
    if words is None:
        with open("/proc/self/cmdline", "rb") as line:
            words = [os.fsdecode(word) for word in line.read().split(b"\0")[:-1]]

    def is_started(module):
        """Whether a word of the command line starts this runner."""
        by_name = module == "pytest" and os.path.basename(words[1] if words[1:] else "") in ("pytest", "py.test")
        return by_name or any(words[at : at + 2] == ["-m", module] for at in range(len(words)))

    def refuse(what):
        try:
            sys.stdout.flush()
            os.write(errors, ("\nthe code under test %s\n" % what).encode())
        finally:
            end(forged)

    def functions(modules):
        """The functions of modules and of their classes, by name, with their code."""
        found = {}
        for module in modules:
            for name, value in list(vars(sys.modules[module]).items()) if module in sys.modules else ():
                if isinstance(value, types.FunctionType):
                    found[module, name] = (id(value), id(value.__code__))
                elif isinstance(value, type) and value.__module__ == module:
                    for inner, function in list(vars(value).items()):
                        # Methods of the class itself stand inside an object.
                        function = getattr(function, "__func__", function)
                        if isinstance(function, types.FunctionType):
                            found[module, name, inner] = (id(function), id(function.__code__))
        return found

    def changed(before):
        """The name of a function that is another one now."""
        now = functions({name[0] for name in before})
        return next((".".join(name) for name, code in before.items() if now.get(name) != code), None)

    is_closed = []

    def close_exits():
        """From here on this process ends by its runner alone. Children may end as they like."""
        if is_closed:
            return
        is_closed.append(True)

        def closed(module, name):
            original = getattr(module, name)

            def call(*values, **options):
                if os.getpid() == pid:
                    refuse("called %s.%s in the process of its tests" % (module.__name__, name))
                return original(*values, **options)

            return call

        for name in ("_exit", "abort"):
            for module in (os, posix):
                if hasattr(module, name):
                    setattr(module, name, closed(module, name))
        atexit._clear = closed(atexit, "_clear")
        ends = {"_exit", "exit", "_Exit", "quick_exit", "abort", "execv", "execve", "execvp", "execl", "execlp"}

        def audit(event, values):
            if event == "os.exec" and os.getpid() == pid:
                refuse("replaced the process of its tests")
            if event == "ctypes.dlsym" and values[1] in ends and os.getpid() == pid:
                refuse("looked for %s in the process of its tests" % values[1])

        # Python 3.7 has no such hooks.
        getattr(sys, "addaudithook", lambda hook: None)(audit)
        # What the tests start is not a runner of them.
        for name in ("PYTHONPATH", "PATH"):
            if name in os.environ:
                places = [place for place in os.environ[name].split(":") if os.path.dirname(place) != os.path.dirname(own)]
                os.environ[name] = ":".join(places)
                if name == "PYTHONPATH" and not any(places):
                    del os.environ[name]

    def guard_unittest():
        from unittest import main, runner

        program, result = main.TestProgram, []
        run_tests, run = program.runTests, runner.TextTestRunner.run

        def watched_tests(self):
            try:
                return run_tests(self)
            finally:
                done = getattr(self, "result", None)
                if done is not None:
                    result.append(done)
                # Python 3.12 and later fail where nothing was run.
                if done is not None and done.wasSuccessful() and done.testsRun == 0 and not done.skipped:
                    sys.exit(5)

        def watched_run(self, tests):
            done = run(self, tests)
            result.append(done)
            return done

        program.runTests, runner.TextTestRunner.run = watched_tests, watched_run
        names = ("case", "loader", "main", "result", "runner", "suite")
        before = functions(["unittest." + name for name in names])
        close_exits()

        def check():
            if os.getpid() != pid:
                return
            what = changed(before) if result else None
            if what:
                refuse("changed its runner: " + what)
            if not result and runs_unittest():
                refuse("ended the process before its tests ran")

        atexit.register(check)

    def runs_unittest():
        """Whether the command line starts unittest, or a file that does."""
        if is_started("unittest"):
            return "-h" not in words and "--help" not in words
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        try:
            with open(script, "rb") as source:
                return b"unittest.main(" in source.read()
        except (OSError, TypeError):
            return False

    def guard_pytest():
        import pluggy

        config, first = sys.modules["_pytest.config"], pluggy.HookimplMarker("pytest")(tryfirst=True)
        modules = ["_pytest." + name for name in ("junitxml", "main", "nodes", "python", "reports", "runner", "terminal")]
        modules += ["unittest.case", "unittest.result"]
        prepare, before, finding = config._prepareconfig, [], []

        class Watch:
            """A plugin of pytest."""

            @first
            def pytest_collection(self):
                # Plugins of the project change the runner when they are loaded, which is before this.
                before.append(functions(modules))

            @first
            def pytest_sessionfinish(self):
                finding.append(changed(before[0]) if before else None)

        def watched(args=None, plugins=None, **options):
            return prepare(args, list(plugins or ()) + [Watch()], **options)

        def check():
            if os.getpid() != pid or not before:
                return
            if not finding:
                refuse("ended the process before its tests ran")
            if finding[0]:
                refuse("changed its runner: " + finding[0])

        config._prepareconfig = watched
        atexit.register(check)
        close_exits()

    guards = {"unittest.main": guard_unittest, "_pytest.config": guard_pytest}

    class Guarded(importlib.abc.MetaPathFinder):
        """Guards a runner as soon as it was loaded."""

        def find_spec(self, name, path=None, target=None):
            guard = guards.get(name)
            if guard is None:
                return None
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is None or spec.loader is None:
                return None
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                if guards.pop(name, None):
                    guard()

            spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Guarded())
    # A runner comes from outside the project: it is loaded before the project's directories are searched.
    for name in ("pytest", "unittest"):
        if is_started(name):
            try:
                __import__(name)
            except ImportError:
                pass
    # The installation's own file of this name.
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError:
        sys.modules["sitecustomize"] = this


try:
    watch()
except BaseException as error:
    import posix

    posix.write(2, ("the tests cannot be guarded: %r\n" % (error,)).encode())
    posix._exit(70)

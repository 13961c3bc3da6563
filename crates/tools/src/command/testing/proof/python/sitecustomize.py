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
    import _frozen_importlib_external as loading
    import os

    find_bytecode, is_closed, tag = loading.cache_from_source, [], sys.implementation.cache_tag
    parts = ("site-packages", "dist-packages", "lib-dynload", os.path.basename(os.path.dirname(os.__file__)))

    def is_installed(place):
        """Whether modules stand here that neither the work nor its tests can write."""
        real = os.path.join(os.path.realpath(place), "")
        is_project = any(real.startswith(os.path.join(os.path.realpath(root), "")) for root in projects)
        return os.path.basename(place) in parts and not is_project and not os.access(place, os.W_OK)

    installed = tuple(os.path.join(os.path.realpath(place), "") for place in outside if is_installed(place))

    # Bytecode of tests, or of a module that they judge by, could be planted where it is looked for. A verification uses that of an
    # installation, which stands beside its sources: to compile a runner takes four times as long as to run a few tests.
    def bytecode(path, *values, **options):
        path = os.fspath(path)
        if tag and not values and not options and not sys.flags.optimize and os.path.realpath(path).startswith(installed):
            place, name = os.path.split(path)
            return "%s/__pycache__/%s.%s.pyc" % (place, name.rpartition(".")[0], tag)
        return own + "/no-bytecode" + path + "c" if is_closed else find_bytecode(path, *values, **options)

    loading.cache_from_source = bytecode
    import atexit, builtins, importlib.abc, importlib.machinery, posix, types
    from time import perf_counter as clock

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

    # Runners, and what loads tests and rewrites their assertions.
    families = ("_pytest", "pluggy", "unittest", "ast", "_frozen_importlib", "_frozen_importlib_external")
    # What makes classes and code of tests, and decides in assertions.
    watched_builtins = (
        "__build_class__ all any bool callable compile eval exec getattr hasattr isinstance issubclass len repr setattr type"
    ).split()
    deciding_hooks = (
        "pytest_pyfunc_call pytest_runtestloop pytest_runtest_protocol pytest_runtest_setup pytest_runtest_call pytest_runtest_teardown "
        "pytest_runtest_makereport pytest_runtest_logreport pytest_collection_modifyitems pytest_sessionfinish"
    ).split()
    project = os.path.join(os.getcwd(), "")

    def functions():
        """The functions of the runners' modules and classes, with where they stand and their code."""
        found = []

        def add(owner, key, value, label):
            # Methods of the class itself stand inside an object.
            function = getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                found.append((owner, key, value, function, function.__code__, label))

        for module in [name for name in list(sys.modules) if name.partition(".")[0] in families]:
            members = vars(sys.modules[module])
            for name, value in list(members.items()):
                if isinstance(value, type) and value.__module__ == module:
                    for inner, method in list(vars(value).items()):
                        add(vars(value), inner, method, module + "." + name + "." + inner)
                else:
                    add(members, name, value, module + "." + name)
        for name in watched_builtins:
            found.append((vars(builtins), name, getattr(builtins, name), None, None, "builtins." + name))
        return found

    def changed(before):
        """The name of a function that is another one now."""
        for owner, key, value, function, code, label in before:
            if owner.get(key) is not value or function is not None and function.__code__ is not code:
                return label
        return None

    def hooks(manager):
        """The functions that a manager of plugins calls for each hook."""
        found = {id(manager): ("pluggy", getattr(manager, "_inner_hookexec", None), None)}
        for name, caller in list(vars(manager.hook).items()):
            for one in getattr(caller, "get_hookimpls", list)():
                # The object is kept, so that no other one gets its number.
                found[id(one)] = (name, one.function, getattr(one.function, "__code__", None), one)
        return found

    def changed_hook(before, manager):
        """The name of a hook that calls another function now. Plugins may come and go, but the work decides no outcome."""
        for number, one in hooks(manager).items():
            if number in before and any(new is not old for new, old in zip(one[1:], before[number][1:])):
                return one[0]
            name, code = one[0], one[2]
            is_work = code is not None and code.co_filename.startswith(project) and not is_outside(code)
            if number not in before and name in deciding_hooks and is_work and not is_test_code(code):
                return name
        return None

    def code_of(test):
        """The code of a test, which may be a method or wrapped."""
        found = []
        while test is not None and len(found) < 20:
            test = getattr(test, "__func__", test)
            found.append(getattr(test, "__code__", None))
            test = getattr(test, "__wrapped__", None)
        return found

    def is_outside(code):
        """Whether code is part of an installation: plugins wrap tests when these begin."""
        return "/site-packages/" in code.co_filename or "/dist-packages/" in code.co_filename

    def is_test_code(code):
        name = os.path.basename(code.co_filename)
        return name.startswith(("test_", "tests.", "conftest.")) or name.endswith("_test.py")

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
            if event == "object.__setattr__" and values[1] == "__code__" and is_test_code(values[0].__code__):
                refuse("replaced the code of the test " + values[0].__name__)
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

        def cases(tests):
            """The tests of a suite, as class, name and code."""
            for test in tests if hasattr(tests, "__iter__") else [tests]:
                if hasattr(test, "__iter__"):
                    for inner in cases(test):
                        yield inner
                elif hasattr(test, "_testMethodName"):
                    name = test._testMethodName
                    yield type(test), name, code_of(getattr(type(test), name, None))

        def watched_run(self, tests):
            collected = list(cases(tests))
            done = run(self, tests)
            result.append(done)
            for owner, name, code in collected:
                if os.getpid() == pid and code_of(getattr(owner, name, None)) != code:
                    refuse("replaced the test " + name)
            return done

        program.runTests, runner.TextTestRunner.run = watched_tests, watched_run
        close_exits()
        before = functions()

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
        import pathlib, pluggy

        rewrite = sys.modules.get("_pytest.assertion.rewrite")
        if hasattr(rewrite, "get_cache_dir"):
            rewrite.get_cache_dir = lambda path: pathlib.Path(own, "no-bytecode")
        config, first = sys.modules["_pytest.config"], pluggy.HookimplMarker("pytest")(tryfirst=True)
        prepare, before, finding, tests = config._prepareconfig, [], [], {}
        # When the last check ended, and how long it took: many tests are not checked one by one.
        last = [0.0, 0.0]

        def check_runner(manager):
            begun = clock()
            if os.getpid() != pid or begun - last[0] < 10 * last[1]:
                return
            what = changed(before[0]) or changed_hook(before[1], manager)
            if what:
                refuse("changed its runner: " + what)
            last[:] = [clock(), clock() - begun]

        class Watch:
            """A plugin of pytest."""

            def __init__(self):
                self.manager = None

            @first
            def pytest_collection(self, session):
                # Plugins of the project change the runner when they are loaded, which is before this.
                if self.manager is None and not before:
                    self.manager = session.config.pluginmanager
                    before.extend([functions(), hooks(self.manager)])

            @first
            def pytest_collectstart(self, collector):
                if self.manager is not None:
                    check_runner(self.manager)

            @first
            def pytest_collection_finish(self, session):
                if self.manager is not None:
                    tests.update((id(item), (item, code_of(getattr(item, "obj", None)))) for item in session.items)

            @first
            def pytest_runtest_protocol(self, item):
                if self.manager is None or os.getpid() != pid:
                    return
                check_runner(self.manager)
                same, code = tests.get(id(item), (None, None))
                now = code_of(getattr(item, "obj", None)) if same is item else code
                if now != code and not any(part is not None and is_outside(part) for part in now[:1]):
                    refuse("replaced the test " + item.name)

            @first
            def pytest_sessionfinish(self):
                if self.manager is not None:
                    what = changed(before[0]) or changed_hook(before[1], self.manager)
                    finding.append(what)

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

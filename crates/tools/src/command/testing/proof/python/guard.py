# Runs before the runner of the tests, and before any code of the project can be imported.
#
# Code under test shares the process with its runner, so it could print the runner's summary, write its report and end the
# process, or change the runner. Neither is possible by accident: both end the process as a failure.
import sys

# `python3 -c` looks in the current directory first, and a project may have a `types.py`.
sys.path[:] = [place for place in sys.path if place]
import os
import posix
import types

FORGED = 70


def guard():
    """Guards the process; returns the functions that the start of a runner needs, which no module names."""
    own, end = os.getpid(), os._exit

    def refuse(what):
        sys.stderr.write("\nthe code under test %s\n" % what)
        sys.stderr.flush()
        end(FORGED)

    def guarded(name):
        original = getattr(os, name)

        def call(*values, **options):
            if os.getpid() == own:
                refuse("called os.%s in the process of its tests" % name)
            return original(*values, **options)

        return call

    for name in ("_exit", "abort", "execv", "execve", "execl", "execle", "execlp", "execlpe", "execvp", "execvpe"):
        wrapped = guarded(name)
        for module in (os, posix):
            if hasattr(module, name):
                setattr(module, name, wrapped)

    def functions(modules):
        """The functions of modules and of their classes, by name, with their code."""
        found = {}
        for module in modules:
            for name, value in list(vars(sys.modules[module]).items()):
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

    return functions, changed, refuse

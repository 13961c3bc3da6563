sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) != os.getcwd()]
import unittest, unittest.case, unittest.loader, unittest.main, unittest.result, unittest.runner, unittest.suite
import traceback, difflib, doctest, pprint

MODULES = ["unittest.case", "unittest.loader", "unittest.result", "unittest.runner", "unittest.suite"]


def start(functions, changed, refuse):
    before, main = functions(MODULES), unittest.main
    sys.path.insert(0, os.getcwd())
    sys.argv[0] = "python3 -m unittest"
    try:
        program = main(module=None, exit=False)
    except SystemExit as error:
        # Usage errors, and code that ends the process while it is imported.
        sys.exit(error.code or FORGED)
    what = changed(before)
    if what:
        refuse("changed its runner: " + what)
    # Python 3.12 and later fail where nothing was run.
    if program.result.wasSuccessful() and program.result.testsRun == 0 and not program.result.skipped:
        sys.exit(5)
    sys.exit(not program.result.wasSuccessful())


start(*guard())

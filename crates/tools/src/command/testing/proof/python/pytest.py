sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) != os.getcwd()]
import pytest, unittest.case, unittest.result, doctest, pdb, difflib, xml.etree.ElementTree
import _pytest.junitxml, _pytest.main, _pytest.nodes, _pytest.python, _pytest.reports, _pytest.runner

MODULES = ["_pytest.junitxml", "_pytest.main", "_pytest.nodes", "_pytest.python", "_pytest.reports", "_pytest.runner"]
MODULES += ["unittest.case", "unittest.result"]


def start(functions, changed, refuse):
    before = after = None

    class Watch:
        # Plugins of the project change the runner when they are loaded, which is before this.
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self):
            nonlocal before
            before = functions(MODULES)

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(self):
            nonlocal after
            after = changed(before) if before is not None else None

    main = pytest.main
    sys.path.insert(0, os.getcwd())
    sys.argv[0] = "pytest"
    code = main(plugins=[Watch()])
    if after:
        refuse("changed its runner: " + after)
    sys.exit(code)


start(*guard())

PRICES = {"tea": 450, "cup": 799, "pin": 1, "jar": 1005}


def sell(products, codes):
    import shop
    cart = shop.Cart(shop.Catalogue(PRICES))
    for name, count in products:
        cart.add(name, count)
    for code in codes:
        cart.use(code)
    return {"total": shop.total_of(cart), "receipt": shop.receipt(cart), "discounts": list(cart.discounts)}


def changes(calls):
    import shop
    cart = shop.Cart(shop.Catalogue(PRICES))
    said = []
    for name, *arguments in calls:
        result = outcome(getattr(cart, name), *arguments)
        said.append(result.get("raised", ["-"])[0])
    return {"said": said, "lines": [list(line) for line in cart.lines()], "discounts": list(cart.discounts)}


def apart():
    import shop
    cheap, dear = shop.Catalogue({"tea": 1}), shop.Catalogue({"tea": 9, "cup": 5})
    first, second = shop.Cart(cheap), shop.Cart(dear)
    first.add("tea")
    second.add("tea")
    first.use("GIFT")
    lines = first.lines()
    lines.append("x")
    missing = outcome(cheap.price, "cup").get("raised", [])
    texts = [shop.receipt(first), shop.receipt(second), shop.receipt(first)]
    return {
        "totals": [shop.total_of(first), shop.total_of(second)],
        "discounts": [list(first.discounts), list(second.discounts)],
        "missing": "UnknownProduct" in missing and "KeyError" in missing,
        "lines": len(first.lines()),
        "same": texts[0] == texts[2],
    }


def names():
    import shop
    import shop.cart, shop.catalogue, shop.pricing, shop.receipt
    import sys
    module = sys.modules
    pairs = [("cart", "Cart"), ("catalogue", "Catalogue"), ("catalogue", "UnknownProduct"), ("receipt", "receipt"), ("pricing", "total_of"), ("pricing", "UnknownDiscount")]
    kinds = [issubclass(shop.UnknownProduct, KeyError), issubclass(shop.UnknownDiscount, ValueError)]
    return [getattr(module["shop." + of], name) is getattr(shop, name) for of, name in pairs] + kinds


def alone(module):
    import importlib
    importlib.import_module(module)
    return True


def sources():
    """For each module: what it imports of the package, whether inside a function, which codes it names, and module-level names that hold lists, dicts or sets."""
    import ast, os, sys
    folder = os.path.join(sys.path[-1], "shop")
    found = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".py"):
            continue
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            tree = ast.parse(text.read())
        top = set(map(id, tree.body))
        imports, inside, codes, shared = set(), 0, 0, 0
        for node in ast.walk(tree):
            targets = []
            if isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    base = "shop" + ("." + base if base else "")
                targets = [base] + [f"{base}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            own = {name.split(".")[1] if "." in name else "__init__" for name in targets if name.split(".")[0] == "shop"}
            files = {name for name in own if name == "__init__" or os.path.exists(os.path.join(folder, name + ".py"))}
            if len(files) > 1:
                files.discard("__init__")
            imports |= files
            inside += bool(files) and id(node) not in top
            codes += isinstance(node, ast.Constant) and node.value in ("TEN", "BULK", "GIFT")
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                shared += sum(isinstance(default, (ast.List, ast.Dict, ast.Set)) for default in node.args.defaults + node.args.kw_defaults)
        found[file[:-3]] = {"imports": sorted(imports), "inside": inside, "codes": codes, "shared": shared}
    return found


def state():
    """The contents of every module before and after use."""
    import copy, sys
    import shop
    import shop.cart, shop.catalogue, shop.pricing, shop.receipt

    def contents():
        kinds = (list, dict, set)
        return {
            f"{name}.{key}": copy.deepcopy(value)
            for name, module in sorted(sys.modules.items()) if name == "shop" or name.startswith("shop.")
            for key, value in vars(module).items() if isinstance(value, kinds) and not key.startswith("__")
        }

    before = repr(contents())
    sell([["tea", 12], ["cup", 1]], ["TEN", "BULK", "GIFT"])
    apart()
    return before == repr(contents())

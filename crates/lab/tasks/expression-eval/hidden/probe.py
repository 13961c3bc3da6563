def evaluate(text):
    from expression import evaluate
    result = outcome(evaluate, text)
    if "value" in result:
        result["kind"] = type(result["value"]).__name__
    return result


def names():
    import ast, expression, inspect
    tree = ast.parse(inspect.getsource(expression))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    brought = {alias.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    return sorted(used | brought)

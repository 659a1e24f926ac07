"Check that the names between backticks in prose are names of the code: a renamed function or option must not live on in a sentence."
import ast
import builtins
import importlib
import inspect
import json
import pkgutil
import re
import sys
from pathlib import Path

import fastpragma

root = Path(__file__).parent.parent
elsewhere = set('DistributedSampler StatefulDataLoader init_process_group torchrun cu_seqlens fill_null python bash'.split())  # of others, in prose only


def code_names():
    "What the package defines, the attributes of its classes and the parameters of its functions; and every word of its code"
    names, attributes, parameters, words = set(dir(builtins)), set(), set(), set()
    for module in pkgutil.iter_modules(fastpragma.__path__):
        if module.name.startswith('_'): continue
        module = importlib.import_module(f'fastpragma.{module.name}')
        words |= set(re.findall(r'\w+', inspect.getsource(module)))
        for name in module.__all__:
            names.add(name)
            thing = getattr(module, name)
            attributes |= set(dir(thing))
            for f in [thing, *(getattr(thing, a) for a in dir(thing))] if inspect.isclass(thing) else [thing]:
                if callable(f):
                    try: parameters |= set(inspect.signature(f).parameters)
                    except ValueError: pass  # built in, without a signature
    return names, attributes, parameters, words


def unknown(span, known, own):
    "Names in a piece of code that neither the package, the page's own code nor a neighbour has"
    names, attributes, parameters, words = known
    try: tree = ast.parse(span.replace('…', '...'), mode='eval')
    except SyntaxError: return []
    if isinstance(tree.body, ast.BinOp): return []  # a formula, a path, a command
    nodes = list(ast.walk(tree))
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    called = {n.func.id for n in calls if isinstance(n.func, ast.Name)}
    options = {k.arg for n in calls for k in n.keywords if k.arg and getattr(n.func, 'id', '') not in ('dict', 'Batch')}
    found = [(called, names | attributes), ({n.id for n in nodes if isinstance(n, ast.Name) and len(n.id) > 3} - called, words | names),
             ({n.attr for n in nodes if isinstance(n, ast.Attribute)}, attributes | words), (options, parameters)]
    return sorted(set().union(*(of - have - own - elsewhere for of, have in found)))


def pages():
    "Prose and words of the code of each page"
    for f in sorted((root/'nbs').rglob('*.ipynb')):
        cells = json.loads(f.read_text(encoding='utf-8'))['cells']
        text = {kind: '\n\n'.join(''.join(c['source']) for c in cells if c['cell_type'] == kind) for kind in ('markdown', 'code')}
        yield f, text['markdown'], text['code']
    for name in 'CHANGELOG.md', 'CONTRIBUTING.md': yield root/name, (root/name).read_text(encoding='utf-8'), ''


known, bad, n = code_names(), [], 0
files = {w for f in (root/'nbs').rglob('*.*') for w in re.findall(r'\w+', f.name)} | {'parquet', 'shard_0'}
for f, prose, code in pages():
    own = set(re.findall(r'\w+', code)) | files
    for span in re.findall(r'(?<!`)`([^`\n]+)`(?!`)', re.sub(r'^(```.*?^```|    .*?$)', '', prose, flags=re.M | re.S)):
        n += 1
        bad += [f'{f.relative_to(root)}: `{span}`: no {w}' for w in unknown(span, known, own)]
print(*bad, f'{n:,} pieces of code in prose, {len(bad)} with a name that is not there', sep='\n')
sys.exit(bool(bad) or not n)

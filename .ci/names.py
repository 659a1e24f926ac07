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
elsewhere = set('''DistributedSampler StatefulDataLoader init_process_group torchrun cu_seqlens fill_null python python3 bash _docs universal_pathlib s3fs
    gcsfs adlfs rand emptyDir'''.split())  # of others, in prose only


def options_of(thing):
    "Names of its arguments; None where it takes any"
    if inspect.isclass(thing) and '__init__' not in vars(thing): return None
    found = inspect.signature(thing).parameters
    return None if any(p.kind is p.VAR_KEYWORD for p in found.values()) else set(found)


def code_names():
    "What the package defines, the options of each callable (None: any), and every word of its code"
    names, options, words = set(dir(builtins)), {}, set()
    for module in pkgutil.iter_modules(fastpragma.__path__):
        if module.name.startswith('_'): continue
        module = importlib.import_module(f'fastpragma.{module.name}')
        words |= set(re.findall(r'\w+', inspect.getsource(module)))
        for name in module.__all__:
            thing = getattr(module, name)
            own = {a: getattr(thing, a) for a in vars(thing) if not a.startswith('_')} if inspect.isclass(thing) else {}
            names |= {name, *own}
            options |= {k: options_of(f) for k, f in {name: thing, **own}.items() if inspect.isfunction(f) or inspect.ismethod(f) or inspect.isclass(f)}
    return names, options, words


def unknown(span, known, own):
    "Names in a piece of code that neither the package, the page's own code nor a neighbour has"
    names, options, words = known
    if re.fullmatch(r'spark(\.\w+)+(=.*)?', span): return set()  # a setting of Spark
    assigned = re.fullmatch(r'(\w+)=(.+)', span)
    if assigned and assigned[1] not in words | own: return {assigned[1]}
    try: tree = ast.parse((assigned[2] if assigned else span).replace('…', '...'), mode='eval')
    except SyntaxError: return set()
    if isinstance(tree.body, ast.BinOp): return set()  # a formula, a path, a command
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and len(n.id) > 3} | {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    bad = found - words - names - own
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, 'id', '')
        if isinstance(call.func, ast.Name): bad |= {name} - names - own
        if options.get(name) is not None: bad |= {k.arg for k in call.keywords} - options[name]
    return bad - elsewhere


def pages():
    "Prose and words of the code of each page"
    for f in sorted((root/'nbs').rglob('*.ipynb')):
        cells = json.loads(f.read_text(encoding='utf-8'))['cells']
        text = {kind: '\n\n'.join(''.join(c['source']) for c in cells if c['cell_type'] == kind) for kind in ('markdown', 'code')}
        yield f, text['markdown'], set(re.findall(r'\w+', text['code']))
    for name in 'CHANGELOG.md', 'CONTRIBUTING.md': yield root/name, (root/name).read_text(encoding='utf-8'), set()


known, bad, n = code_names(), [], 0
files = {w for f in (root/'nbs').rglob('*.*') for w in re.findall(r'\w+', f.name)} | {'parquet', 'shard_0'}
for f, prose, own in pages():
    for span in re.findall(r'(?<!`)`([^`\n]+)`(?!`)', prose):
        n += 1
        bad += [f'{f.relative_to(root)}: `{span}`: no {w}' for w in sorted(unknown(span, known, own | files))]
print(*bad, f'{n:,} pieces of code in prose, {len(bad)} with a name that is not there', sep='\n')
sys.exit(bool(bad) or not n)

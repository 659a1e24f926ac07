"Checks of .ci/run that need more than a line: count LOG STATUS, files, outputs."
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

root = Path(__file__).parent.parent
machine_path = re.compile(r'(?<![\w.])/(?:home|root|Users|work|tmp|var/folders|opt|mnt)/\w')


def git_files():
    listed = subprocess.run(['git', 'ls-files', '-z'], cwd=root, capture_output=True, text=True, check=True).stdout
    return [root/f for f in listed.split('\0') if f]


def notebooks(): return [f for f in git_files() if f.suffix == '.ipynb']


def skipped():
    "Notebooks that leave themselves out where there is no Java"
    return [] if shutil.which('java') else [f for f in notebooks() if "shutil.which('java')" in f.read_text(encoding='utf-8')]


def count(log, status):
    "Print how many notebooks passed, failed and were skipped; fail where the log and the exit status do not fit, or nothing ran"
    text = Path(log).read_text(encoding='utf-8')
    started = set(re.findall(r'Starting (?:\S*/)?(\S+\.ipynb)', text))
    failed = set(re.findall(r'^\s+(?:\S*/)?(\S+\.ipynb)$', text.rpartition('Tests Failed')[2], re.M)) if 'Tests Failed' in text else set()
    if not started: sys.exit('no notebook was tested')
    if missing := {f.name for f in notebooks()} - started: sys.exit(f'not tested: {sorted(missing)}')
    if bool(failed) != (status != '0'): sys.exit(f'the test command ended with {status}, but names {len(failed)} failed notebooks')
    print(len(started) - len(failed) - len(skipped()), len(failed), len(skipped()))


def files():
    "No committed file is over 1 MB or holds a path of somebody's machine"
    bad = [f'{f}: {f.stat().st_size:,} bytes' for f in git_files() if f.stat().st_size > 1_000_000]
    for f in git_files():
        if f.suffix in ('.png', '.parquet'): continue
        bad += [f'{f}: {m[0]}' for m in machine_path.finditer(f.read_text(encoding='utf-8'))]
    if bad: sys.exit('\n'.join(bad))


def kinds(nb):
    "What kinds of output each code cell has; pictures and numbers may differ between machines, kinds may not"
    def of(o): return o['output_type'] + ''.join(sorted(o.get('data', {}))) + o.get('name', '')
    return [(''.join(c['source'])[:60], [of(o) for o in c['outputs']]) for c in nb['cells'] if c['cell_type'] == 'code']


def outputs():
    """Run the notebooks again, each in a process of its own (a filter of warnings in one must not reach another):
    the committed outputs are of the same kinds, and none is an error. Those in `tests` say in words what they assert"""
    read = lambda: {f.name: kinds(json.loads(f.read_text(encoding='utf-8'))) for f in notebooks()}
    again = [f for f in notebooks() if f.parent.name != 'tests' and f not in skipped()]
    def run(f): subprocess.run(['nbdev-test', f, '--n-workers', '1', '--save'], cwd=root, check=True)
    before = read()
    errors = [name for name, cells in before.items() for _, outs in cells if any(o.startswith('error') for o in outs)]
    if errors: sys.exit(f'errors are saved in {errors}')
    with ThreadPoolExecutor(os.cpu_count()) as pool: list(pool.map(run, again))
    after = read()
    bad = [f'{name}: {a} was saved, {b} came out' for name in before for a, b in zip(before[name], after[name]) if a != b]
    subprocess.run(['git', 'checkout', '-q', '--', 'nbs'], cwd=root, check=True)
    if bad: sys.exit('\n'.join(bad))


if __name__ == '__main__': globals()[sys.argv[1]](*sys.argv[2:])

"""Kill a write again and again, and see that the next one makes the same dataset.

    python bench/kill.py [--kills 30] [--seed 0]

A process writes a small bank's tables over an older dataset and is killed (`kill -9`) at a random moment: while it deals out its rows, fits, encodes,
or moves its files. Each time a reader is tried, the same call is made again, and every byte of what it leaves is compared with that of a write that
nobody disturbed.
"""
import argparse
import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
import sys
from fastpragma.data import *
from fastpragma.samples import bank
b = bank(int(sys.argv[2]), seed=1)
cards = DataSource(b.cards, cats=['currency', 'mcc'], conts='amount', signed_conts='amount', texts='merchant', time_col='at', name='cards')
app = DataSource(b.app, cats=['screen', 'device'], conts='seconds', time_col='at', name='app')
profile = DataSource(b.profile, cats=['country', 'plan'], conts=['age', 'balance'], lifelong=['signed_up', 'first_top_up'], is_profile=True)
print('ready', flush=True)
ds = PRAGMADataset(profile, [cards, app], out_path=sys.argv[1], split=dict(train=.8, valid=.2))
ds.fit_tokenizer(eval_time='2024-10-01', progress=False)
ds.write_kv('2024-10-01', n_shards=40, progress=False)
"""
STAGES = {  # what the folder looks like when a stage has begun, and for how many seconds at most it is left alone
    'deal out and fit': (lambda out: True, 1.),
    'encode': (lambda out: (out/'.staging').exists(), .15),
    'half encoded': (lambda out: (out/'.staging/shard_20.parquet').exists(), .06),
    'move': (lambda out: (out/'.staging/manifest.json').exists(), .004)}


def start(out, people=2000):
    run = subprocess.Popen([sys.executable, '-W', 'ignore', '-c', SCRIPT, out, str(people)], stdout=subprocess.PIPE, text=True)
    run.stdout.readline()
    return run


def whole(out, people=2000):
    "A write that nobody disturbs"
    if code := start(out, people).wait(): raise SystemExit(f'a write ended with {code}')


def files(out): return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(Path(out).rglob('*')) if f.is_file()}


def seen_by_readers(found): return {n: h for n, h in found.items() if not n.startswith('.')}


def readable(out):
    "What a reader gets: how many people, or the sentence"
    code = f'from fastpragma.dataloader import *; print(sum(len(b["uids"]) for b in PRAGMADataLoader.from_path({str(out)!r})))'
    run = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True)
    return run.stdout.strip() or run.stderr.strip().splitlines()[-1]


def main(kills, seed):
    rng, reused, seen = random.Random(seed), 0, {}
    with tempfile.TemporaryDirectory() as d:
        old, good, out = Path(d)/'old', Path(d)/'good', Path(d)/'out'
        whole(old, 300)
        shutil.copytree(old, good)
        whole(good)
        expected, before = files(good), files(old)
        for k in range(kills):
            stage = list(STAGES)[k % len(STAGES)]
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(old, out)
            run = start(out)
            begun, longest = STAGES[stage]
            while run.poll() is None and not begun(out): pass
            time.sleep(rng.random()*longest)
            run.kill()
            killed = run.wait() == -9
            manifest = (out/'manifest.json').exists()
            read = readable(out)
            if not killed: assert files(out) == expected, 'a write that was not killed in time is another one'
            elif manifest and files(out)['manifest.json'] == before['manifest.json']:
                assert seen_by_readers(files(out)) == seen_by_readers(before), 'the old dataset changed'
                assert read == '300', read
            elif not manifest: assert 'its writing did not finish' in read, read
            else: assert seen_by_readers(files(out)) == seen_by_readers(expected), 'a new manifest beside other files'
            new = manifest and files(out)['manifest.json'] == expected['manifest.json']
            finished = [*out.glob('.staging/shard_*.parquet'), *([] if manifest else out.glob('shard_*.parquet'))]
            staged = {(f.stat().st_ino, f.stat().st_mtime_ns) for f in finished}
            whole(out)
            assert files(out) == expected, {n for n in {**files(out), **expected} if files(out).get(n) != expected.get(n)}
            assert not [f for f in out.iterdir() if f.is_dir()], 'a folder was left'
            taken = sum((f.stat().st_ino, f.stat().st_mtime_ns) in staged for f in out.glob('shard_*.parquet'))
            reused += taken
            where = f'{stage}: ' + ('too late' if not killed else 'no manifest' if not manifest else 'new dataset whole' if new else 'old dataset whole')
            seen[where] = seen.get(where, 0) + 1
            print(f'kill {k + 1:2} {where:45} finished shards taken over: {taken}', flush=True)
    print(f'{kills} kills, {len(expected)} files equal each time, {reused} finished shards taken over')
    print('; '.join(f'{n} × {where}' for where, n in sorted(seen.items())))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--kills', type=int, default=30)
    parser.add_argument('--seed', type=int, default=0)
    main(**vars(parser.parse_args()))

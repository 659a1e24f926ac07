"""Write datasets of a bank's events, and print what it takes.

    python bench/write.py [--events 1 10 50] [--runs 3] [--peer DIR] [--work DIR]

Numbers of events are in millions. Every write is a process of its own, so that its memory is its own; tables are made once, by another process. Of
`--runs` runs for up to a million events the one with the median CPU time is shown; one run for more. `--peer DIR` adds the public package of the same
name, put there with `pip install --no-deps --target DIR fastpragma==0.0.20`. `--work DIR` keeps tables and datasets elsewhere than in a temporary folder.
"""
import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KINDS = ('plain', 'text', 'three')  # card payments, the same with a text of 200,000 distinct values, and three sources


def events_of(kind): return dict(plain=45, text=45, three=76)[kind]  # of a person of `bank()`, about


def make(folder, kind, millions):
    "Tables of a bank as Parquet files of 10,000 persons each; the files of a source have its events in the order of time"
    import numpy as np
    import polars as pl
    from fastpragma.samples import bank
    people, each, done, k = int(millions*1e6/events_of(kind)), 10_000, 0, 0
    while done < people:
        n = min(each, people - done)
        b = bank(n, seed=k)
        rng = np.random.default_rng(k)
        tables = dict(cards=b.cards) if kind != 'three' else dict(cards=b.cards, transfers=b.transfers, app=b.app)
        for name, df in tables.items():
            if name == 'cards':  # five tokens an event: the fifth is how it was paid
                df = df.with_columns(paid=pl.Series(['chip', 'online', 'phone']).gather(rng.integers(0, 3, len(df))))
                if kind == 'text':  # 30,720 spellings in 7 towns
                    town = pl.Series([' Berlin', ' Łódź', ' Cork', ' Lyon', ' Cluj', ' Porto', ' Leeds']).gather(rng.integers(0, 7, len(df)))
                    df = df.with_columns(merchant=pl.col('merchant') + town)
            path = Path(folder)/name/f'{k:04d}.parquet'
            path.parent.mkdir(parents=True, exist_ok=True)
            df.with_columns(pl.col('user_id') + done*7).sort('at').write_parquet(path)
        done, k = done + n, k + 1


def sources(DataSource, folder, kind, **kw):
    "Declarations that both packages take"
    import polars as pl
    money = dict(conts=['amount'], signed_conts=['amount'])
    roles = dict(cards=dict(cats=['currency', 'mcc', 'paid'], **money), transfers=dict(cats=['currency', 'channel'], **money),
                 app=dict(cats=['screen', 'device'], conts=['seconds']))
    if kind == 'text': roles['cards']['texts'] = ['merchant']
    if kind != 'three': roles = dict(cards=roles['cards'])
    table = lambda name: pl.scan_parquet(f'{folder}/{name}/*.parquet')
    return [DataSource(table(name), time_col='at', entity_col='user_id', name=name, **r) for name, r in roles.items()]


def write(folder, kind, out, n_shards):
    "One write, its stages timed in the processor's seconds"
    from fastpragma import data, tokenizer
    spent = {}

    def timed(where, name, stage):
        real = getattr(where, name)

        def run(*args, **kw):
            began, inner = time.process_time(), sum(spent.values())
            try: return real(*args, **kw)
            finally: spent[stage] = spent.get(stage, 0) + time.process_time() - began - (sum(spent.values()) - inner)
        setattr(where, name, run)
    for where, name, stage in ((data.PRAGMADataset, '_look', 'deal out and count'), (tokenizer.Tokenizer, 'finish', 'finish the fit'),
                               (tokenizer, 'train_bpe', 'train the pieces'), (data.Spill, 'rows', 'read back'), (data.Encoded, '__init__', 'encode'),
                               (data.Encoded, '_table', 'place'), (data.Staging, 'add', 'write Parquet')): timed(where, name, stage)
    began = time.process_time()
    ds = data.PRAGMADataset(None, sources(data.DataSource, folder, kind), out_path=out)
    ds.write_kv('2025-01-01', n_shards=n_shards, progress=False)
    total = data.read_manifest(out)['total']
    cpu = time.process_time() - began
    size = sum(f.stat().st_size for f in Path(out).glob('shard_*'))
    return dict(cpu=cpu, stages=dict(spent, rest=cpu - sum(spent.values())), bytes=size, **total)


def peer(folder, kind, out, where):
    "The same write by the public package"
    sys.path.insert(0, where)
    from fastpragma import __version__
    from fastpragma.data import DataSource, PRAGMADataset
    assert __version__ == '0.0.20', __version__
    began = time.process_time()
    PRAGMADataset(None, sources(DataSource, folder, kind), entity_col='user_id', out_path=out).write_kv('2025-01-01')
    return dict(cpu=time.process_time() - began)


def copy(out):
    "Read all token shards and write them with the settings they were written with"
    import pyarrow.parquet as pq
    from fastpragma.data import written_with
    began = time.process_time()
    for path in sorted(Path(out).glob('shard_*.parquet')):
        old = pq.ParquetFile(path)
        with pq.ParquetWriter(Path(out)/'copy', old.schema_arrow, **written_with(old.schema_arrow)) as new:
            for g in range(old.num_row_groups):
                table = old.read_row_group(g)
                new.write_table(table, row_group_size=len(table))
        (Path(out)/'copy').unlink()
    return dict(cpu=time.process_time() - began)


def alone(*args):
    "Run one of the functions above in a process of its own; adds wall time and peak memory"
    began = time.perf_counter()
    what, *rest = args
    run = subprocess.run([sys.executable, '-W', 'ignore', __file__, '--one', what, json.dumps(rest, default=str)], capture_output=True, text=True)
    if run.returncode: raise SystemExit(run.stderr)
    return dict(json.loads(run.stdout.splitlines()[-1]), wall=time.perf_counter() - began)


def one(what, *args):
    found = dict(make=make, write=write, peer=peer, copy=copy)[what](*args) or {}
    print('\n' + json.dumps(dict(found, rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss*1024/1e9)))


def median(runs): return sorted(runs, key=lambda r: r['cpu'])[len(runs)//2]


def main(args):
    rows = []
    with tempfile.TemporaryDirectory(dir=args.work) as d:
        for millions in args.events:
            for kind in args.kinds:
                tables, out, runs = Path(d)/f'{kind}_{millions}', Path(d)/'out', args.runs if millions <= 1 else 1
                alone('make', tables, kind, millions)
                ours, copies, others = [], [], []
                for _ in range(runs):
                    shutil.rmtree(out, ignore_errors=True)
                    ours.append(alone('write', tables, kind, out, args.shards))
                    copies.append(alone('copy', out))
                    if args.peer and millions <= 1 and kind == 'plain': others.append(alone('peer', tables, kind, Path(d)/'peer', args.peer))
                    shutil.rmtree(Path(d)/'peer', ignore_errors=True)
                rows.append(row := (millions, kind, median(ours), median(copies), median(others) if others else None))
                show(row)
                shutil.rmtree(tables)
    ratios(rows)


def show(row):
    millions, kind, o, c, p = row
    print(f'{millions:g} M events, {kind}: {o["events"]:,.0f} events, {o["tokens"]:,.0f} tokens, {o["bytes"]/o["tokens"]:.1f} bytes a token\n'
          f'  {o["cpu"]:.1f} CPU s, {o["wall"]:.1f} s wall, peak {o["rss"]:.2f} GB; {o["events"]/o["cpu"]:,.0f} events and '
          f'{o["tokens"]/o["cpu"]:,.0f} tokens per CPU s; a copy of the shards takes {c["cpu"]:.1f} CPU s: ratio {o["cpu"]/c["cpu"]:.2f}')
    print('  ' + ', '.join(f'{k} {v/o["cpu"]:.0%}' for k, v in o['stages'].items()))
    if p: print(f'  the public package: {p["cpu"]:.1f} CPU s, peak {p["rss"]:.2f} GB: CPU 1/{p["cpu"]/o["cpu"]:.1f}, memory 1/{p["rss"]/o["rss"]:.1f}')
    sys.stdout.flush()


def ratios(rows):
    "What grows with what"
    of = {(m, kind): o for m, kind, o, _, _ in rows}
    per_event = lambda m: of[m, 'plain']['cpu']/of[m, 'plain']['events']
    per_token = lambda m, kind: (of[m, kind]['cpu'] - of[m, kind]['stages'].get('train the pieces', 0))/of[m, kind]['tokens']
    if (10, 'plain') in of and (50, 'plain') in of: print(f'CPU time per event, 50 M against 10 M: {per_event(50)/per_event(10):.2f}')
    for m in sorted({m for m, _ in of}):
        if (m, 'plain') in of and (m, 'text') in of:
            ratio = per_token(m, 'text')/per_token(m, 'plain')
            print(f'CPU time per token at {m:g} M events, with text against without, training of the pieces apart: {ratio:.2f}')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--one']:
        what, *rest = sys.argv[2:]
        one(what, *json.loads(rest[0]))
    else:
        parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
        parser.add_argument('--events', type=float, nargs='+', default=[1, 10, 50])
        parser.add_argument('--kinds', nargs='+', default=KINDS, choices=KINDS)
        parser.add_argument('--runs', type=int, default=3)
        shards = lambda s: None if s == 'None' else int(s)
        parser.add_argument('--shards', type=shards, default=100, help='of the write; None: as many as keep each near 2 million tokens')
        parser.add_argument('--peer')
        parser.add_argument('--work')
        main(parser.parse_args())

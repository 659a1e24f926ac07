"""Read an epoch as training does, and print what it takes.

    python bench/load.py [--events 10] [--runs 3] [--peer DIR] [--work DIR] [--skip-ml100k]

MovieLens-100k, and so many million events of `bank()` (its profile, card payments, transfers and visits of the app) in 100 shards. Every measurement is a
process of its own; of `--runs` runs the one with the median is shown, the kinds in turn (with worker processes, which are slow, one run). Times are the
processor's seconds, of all processes, but where wall is said, and of the second epoch (or reading) of a process: the first also pays for its memory, and
is shown beside it. `--peer DIR` adds the public package of the same name on the same shards, put there with
`pip install --no-deps --target DIR fastpragma==0.0.20`; it reads `--peer-shards` of them. `--work DIR` keeps tables and datasets elsewhere than in a
temporary folder, and takes over what is there.
"""
import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def cpu():
    "The processor's seconds of this process and of its children that have ended"
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def make(millions, folder):
    "A dataset of a bank"
    import polars as pl
    from fastpragma.data import DataSource, PRAGMADataset
    from fastpragma.samples import bank
    people, each, done = int(millions*1e6/76), 10_000, 0
    tables = Path(folder)/'tables'
    while done < people:
        n = min(each, people - done)
        b = bank(n, seed=done//each)
        for name in ('profile', 'cards', 'transfers', 'app'):
            (tables/name).mkdir(parents=True, exist_ok=True)
            getattr(b, name).with_columns(pl.col('user_id') + done*7).write_parquet(tables/name/f'{done:08d}.parquet')
        done += n
    money, table = dict(conts='amount', signed_conts='amount', time_col='at'), lambda name: pl.scan_parquet(f'{tables}/{name}/*.parquet')
    profile = DataSource(table('profile'), cats=['country', 'plan'], conts=['age', 'balance'], signed_conts='balance',
                         lifelong=['signed_up', 'first_top_up'], is_profile=True, name='profile')
    events = [DataSource(table('cards'), cats=['currency', 'mcc'], name='cards', **money),
              DataSource(table('transfers'), cats=['currency', 'channel'], name='transfers', **money),
              DataSource(table('app'), cats=['screen', 'device'], conts='seconds', time_col='at', name='app')]
    PRAGMADataset(profile, events, out_path=Path(folder)/'data').write_kv('2025-01-01', progress=False)


def ml100k(folder):
    "MovieLens-100k, as in the chapter on samples"
    import polars as pl
    from fastpragma.data import DataSource, PRAGMADataset
    from fastpragma.samples import ml_100k
    path = ml_100k()
    read = lambda name, sep, cols: pl.read_csv(path/name, separator=sep, has_header=False, new_columns=cols)
    who = read('u.user', '|', ['user_id', 'age', 'gender', 'occupation', 'zip_code'])
    users = DataSource(who, cats=['gender', 'zip_code'], conts='age', texts='occupation', is_profile=True, name='users')
    rated = read('u.data', '\t', ['user_id', 'movie_id', 'rating', 'timestamp'])
    ratings = DataSource(rated, cats=['movie_id', 'rating'], time_col='timestamp', name='ratings')
    PRAGMADataset(users, ratings, out_path=Path(folder)/'data').write_kv('2026-01-01', n_shards=5, progress=False)


def epoch(data, **kw):
    "The first and the second epoch of our loader"
    from fastpragma.dataloader import PRAGMADataLoader
    dl, found = PRAGMADataLoader.from_path(data, **kw), []
    for _ in range(2):
        began, wall, n = cpu(), time.perf_counter(), 0
        for _ in dl: n += 1
        found.append(dict(cpu=cpu() - began, wall=time.perf_counter() - wall))
    return dict(found[1], first=found[0]['cpu'], tokens=int(dl.dataset.index.ntoks.sum()), batches=n)


def first(data):
    "From after the import to the first batch"
    from fastpragma.dataloader import PRAGMADataLoader
    began = time.perf_counter()
    next(iter(PRAGMADataLoader.from_path(data)))
    return dict(wall=time.perf_counter() - began)


def length(data):
    "The length of a dataset that was not looked at before"
    from fastpragma.dataloader import PRAGMADataLoader
    began, wall = cpu(), time.perf_counter()
    n = len(PRAGMADataLoader.from_path(data))
    return dict(cpu=cpu() - began, wall=time.perf_counter() - wall, batches=n)


def resume(data):
    "From a state at 90 % of an epoch to the first batch, in a process that has read nothing; apart, the making of the loader"
    from fastpragma.dataloader import PRAGMADataLoader
    began = cpu()
    dl = PRAGMADataLoader.from_path(data)
    made, state = cpu() - began, dict(dl.state_dict(), steps=9*len(dl)//10, ranks=1)
    began, wall = cpu(), time.perf_counter()
    dl.load_state_dict(state)
    next(it := iter(dl))
    found = dict(cpu=cpu() - began, wall=time.perf_counter() - wall, made=made)
    it.close()
    return found


def decode(data):
    "The same columns by pyarrow, and no more"
    import pyarrow.parquet as pq
    from fastpragma.batch import record_columns
    for _ in range(2):
        began, wall, rows = cpu(), time.perf_counter(), 0
        for path in sorted(Path(data).glob('shard_*.parquet')): rows += len(pq.ParquetFile(path).read(columns=record_columns))
    return dict(cpu=cpu() - began, wall=time.perf_counter() - wall, tokens=rows)


def parts(data):
    "An epoch without threads, its parts timed"
    from fastpragma import dataloader as d
    spent = {}

    def timed(name, stage):
        real = getattr(d, name)

        def run(*args, **kw):
            began = time.process_time()
            try: return real(*args, **kw)
            finally: spent[stage] = spent.get(stage, 0) + time.process_time() - began
        setattr(d, name, run)
    stages = dict(read_arrays='decode', layout='find parts', read_records='gather', to_batches='pack', mask_batches='mask')
    for name, stage in stages.items(): timed(name, stage)
    ds = d.PRAGMADataLoader.from_path(data).dataset
    turn = ds._now(ds._turn)
    began = time.process_time()
    stream = d._Stream(ds, 0, ds._todo(turn))
    for k in range(0, len(stream.numbers), 4): stream.make(range(k, min(k + 4, len(stream.numbers))))
    total = time.process_time() - began
    return dict(cpu=total, stages=dict(spent, rest=total - sum(spent.values())))


def consumer(data):
    "An epoch whose batches are worked on for as long as one takes to load, by products of matrices on one core"
    import torch
    from fastpragma.dataloader import PRAGMADataLoader
    torch.set_num_threads(1)
    x, out = torch.randn(256, 256), torch.empty(256, 256)

    def work(n):
        began = time.perf_counter()
        for _ in range(n): torch.mm(x, x, out=out)
        return time.perf_counter() - began
    dl = PRAGMADataLoader.from_path(data)
    for _ in range(2):
        began, n = time.perf_counter(), 0
        for _ in dl: n += 1
        pace = (time.perf_counter() - began)/n
    work(1000)
    each = max(1, round(pace/(work(1000)/1000)))
    by_itself = sum(work(each) for _ in range(n))
    began, dl = time.perf_counter(), PRAGMADataLoader.from_path(data)
    for _ in dl: work(each)
    return dict(ratio=(time.perf_counter() - began)/by_itself, products=each)


def peer(data, where, mask, n_shards):
    "Part of an epoch by the public package, which takes the numbers of keys and values from our tokenizer"
    from fastpragma.tokenizer import Tokenizer
    tok = Tokenizer.load(Path(data)/'tokenizer.json') if mask else None
    for name in [m for m in sys.modules if m.split('.')[0] == 'fastpragma']: del sys.modules[name]
    sys.path.insert(0, where)
    from fastpragma import __version__
    from fastpragma.dataloader import pragma_dl
    assert __version__ == '0.0.20', __version__
    shards = [str(Path(data)/f'shard_{k}.parquet') for k in range(n_shards)]
    began, tokens = cpu(), 0
    for b in pragma_dl(shards, 'user_id', mask=mask, tok=tok): tokens += len(b['event_tokens']) + int(b['profile_mask'].sum() + b['lifelong_mask'].sum())
    return dict(cpu=cpu() - began, tokens=tokens)


def alone(what, *args, **kw):
    "Run one of the functions above in a process of its own"
    run = subprocess.run([sys.executable, '-W', 'ignore', __file__, '--one', what, json.dumps([args, kw], default=str)], capture_output=True, text=True)
    if run.returncode: raise SystemExit(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def one(what, args, kw):
    found = globals()[what](*args, **kw) or {}
    rss = {k: resource.getrusage(who).ru_maxrss*1024/1e9 for k, who in dict(rss=resource.RUSAGE_SELF, rss_worker=resource.RUSAGE_CHILDREN).items()}
    print('\n' + json.dumps(dict(found, **rss)))


def median(runs, key): return sorted(runs, key=lambda r: r[key])[len(runs)//2]


def measure(data, args):
    "All kinds in turn, several times; of each the median"
    kinds = dict(epoch=('epoch', data), unmasked=('epoch', data, dict(mask=False)), in_order=('epoch', data, dict(mask=False, shuffle=False)),
                 best=('epoch', data, dict(fill='best')), workers1=('epoch', data, dict(num_workers=1)), workers2=('epoch', data, dict(num_workers=2)),
                 decode=('decode', data), length=('length', data), resume=('resume', data), first=('first', data), parts=('parts', data))
    if args.peer:
        for mask in (False, True): kinds[f'peer{mask:d}'] = ('peer', data, dict(where=args.peer, mask=mask, n_shards=args.peer_shards))
    runs = {k: [] for k in kinds}
    for i in range(args.runs):
        for k, (what, path, *kw) in kinds.items():
            if i == 0 or not k.startswith('workers'): runs[k].append(alone(what, path, **(kw[0] if kw else {})))
    found = {k: median(r, 'wall' if k == 'first' else 'cpu') for k, r in runs.items()}
    found['consumer'] = median([alone('consumer', data) for _ in range(args.runs)], 'ratio')
    return found


def show(title, f):
    print(f'{title}: {f["epoch"]["tokens"]:,.0f} tokens in {f["epoch"]["batches"]:,} batches')
    names = {'masked, shuffled': 'epoch', 'not masked': 'unmasked', 'not masked, in order': 'in_order', "fill='best'": 'best', '1 worker': 'workers1',
             '2 workers': 'workers2', 'pyarrow decodes the columns': 'decode'}
    for name, k in names.items():
        r = f[k]
        print(f'  {name:28} {r["tokens"]/r["cpu"]/1e6:6.2f} M tokens per CPU s, {r["tokens"]/r["wall"]/1e6:6.2f} by the wall, peak {r["rss"]:.2f} GB'
              + (f' (first {r["tokens"]/r["first"]/1e6:.2f})' if 'first' in r else '') + (f', of a worker {r["rss_worker"]:.2f} GB' if 'workers' in k else ''))
    stages = f['parts']['stages']
    print('  of an epoch: ' + ', '.join(f'{k} {v/f["parts"]["cpu"]:.0%}' for k, v in stages.items()))
    per = lambda k: f[k]['cpu']/f[k]['tokens']
    rows = [('unmasked against decoding by pyarrow', '2.2, stretch 1.6', f'{per("unmasked")/per("decode"):.2f}'),
            ("masking's share", '30 %', f'{1 - per("unmasked")/per("epoch"):.0%}'),
            ('cost of shuffling', '10 %', f'{per("unmasked")/per("in_order") - 1:+.0%}'),
            ('wall with a consumer as slow as the loader, against the consumer', '1.15', f'{f["consumer"]["ratio"]:.2f}'),
            ('first batch after import', '0.5 s on MovieLens-100k', f'{f["first"]["wall"]:.2f} s'),
            ('len() of an unseen dataset, of an epoch', '2 %', f'{f["length"]["cpu"]/f["epoch"]["cpu"]:.1%}'),
            ('resume at 90 %, of an epoch; with the making of the loader', '3 %',
             f'{f["resume"]["cpu"]/f["epoch"]["cpu"]:.1%}; {(f["resume"]["cpu"] + f["resume"]["made"])/f["epoch"]["cpu"]:.1%}')]
    for mask, k, bar in ((1, 'epoch', '18, stretch 25'), (0, 'unmasked', '22, stretch 30')):
        if f'peer{mask}' in f: rows.append((f'{"masked" if mask else "unmasked"} tokens, against the public package', bar, f'{per(f"peer{mask}")/per(k):.0f}'))
    for row in rows: print('  {:66} {:24} {}'.format(*row))


def main(args):
    with tempfile.TemporaryDirectory() as d:
        work = Path(args.work or d)
        both = ('MovieLens-100k', 'ml100k', ('ml100k',)), (f'{args.events:g} M events of bank()', f'bank{args.events:g}', ('make', args.events))
        for title, name, how in both:
            folder = work/name
            if args.skip_ml100k and how == ('ml100k',): continue
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder/'data/manifest.json').exists(): alone(*how, folder)
            small = argparse.Namespace(**{**vars(args), 'peer': None}) if how == ('ml100k',) else args
            show(title, measure(folder/'data', small))


if __name__ == '__main__':
    if sys.argv[1:2] == ['--one']: one(sys.argv[2], *json.loads(sys.argv[3]))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument('--events', type=float, default=10)
        parser.add_argument('--runs', type=int, default=3)
        parser.add_argument('--peer')
        parser.add_argument('--peer-shards', type=int, default=3)
        parser.add_argument('--work')
        parser.add_argument('--skip-ml100k', action='store_true')
        main(parser.parse_args())

"""Write a bank's events with Spark on this machine, and without; compare the files, and print what each stage takes.

    python bench/spark.py [--events 1 10] [--partitions 0 1 7 50] [--kill] [--work DIR]

Numbers of events are in millions. The session is local[2], with Java's memory set to 2 GB; it is started, and its workers have imported what they need,
before the clock runs. Each number of partitions is a write of its own (0: as Spark reads the files), whose files must be those of the write without
Spark, to the byte. The stages are timed by the wall clock, since the processor's seconds of Java and its workers are not this process's. `--kill` adds
a write during which a worker that has a shard open is killed.
"""
import argparse
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

MASTER = 'local[2,4]'


def make(folder, millions):
    "Tables of a bank as Parquet files of 10,000 persons each"
    from fastpragma.samples import bank
    people, each = int(millions*1e6/76), 10_000
    for k, done in enumerate(range(0, people, each)):
        b = bank(min(each, people - done), seed=k)
        for name in ('profile', 'cards', 'transfers', 'app'):
            df = getattr(b, name)
            path = folder/name/f'{k:04d}.parquet'
            path.parent.mkdir(parents=True, exist_ok=True)
            times = [c for c in ('at', 'signed_up', 'first_top_up') if c in df.columns]
            zoned = [df[c].dt.replace_time_zone('UTC') for c in times]  # Spark has two types of times, and this is the usual one
            df = df.with_columns(df['user_id'] + done*7, *zoned)
            df.write_parquet(path)


def dataset(table, out):
    "Four sources, one with a text of 30,720 spellings"
    from fastpragma.data import DataSource, PRAGMADataset
    money = dict(conts='amount', signed_conts='amount', time_col='at')
    profile = DataSource(table('profile'), cats=['country', 'plan'], conts=['age', 'balance'], signed_conts='balance', lifelong=['signed_up', 'first_top_up'],
                         is_profile=True)
    events = [DataSource(table('cards'), cats=['currency', 'mcc'], texts='merchant', name='cards', **money),
              DataSource(table('transfers'), cats=['currency', 'channel'], texts='note', name='transfers', **money),
              DataSource(table('app'), cats=['screen', 'device'], conts='seconds', time_col='at', name='app')]
    return PRAGMADataset(profile, events, out_path=out)


def timed_write(table, out, n_shards):
    "Seconds of each stage, and in all"
    from fastpragma import data, spark, tokenizer
    spent, real = {}, []

    def timed(where, name, stage):
        was = getattr(where, name)
        real.append((where, name, was))

        def run(*args, **kw):
            began, inner = time.perf_counter(), sum(spent.values())
            try: return was(*args, **kw)
            finally: spent[stage] = spent.get(stage, 0) + time.perf_counter() - began - (sum(spent.values()) - inner)
        setattr(where, name, run)
    timed(data.PRAGMADataset, '_look', 'deal and count')
    timed(tokenizer.Tokenizer, 'finish', 'finish the fit')
    for where in (data.Spill, spark.Cluster):
        was = where.each

        def each(self, work, add, was=was):
            began, writes = time.perf_counter(), work.func is data.write_shards
            try: return was(self, work, add)
            finally:
                if writes: spent['encode and write'] = time.perf_counter() - began
        real.append((where, 'each', was))
        where.each = each
    try:
        began = time.perf_counter()
        with redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            dataset(table, out).write_kv('2025-01-01', n_shards=n_shards, progress=False)
        total = time.perf_counter() - began
    finally:
        for where, name, was in real: setattr(where, name, was)
    return dict(spent, rest=total - sum(spent.values()), total=total)


class Workers(threading.Thread):
    "Looks at Spark's Python workers: their peak memory; where asked, kills the first that has a shard open"
    def __init__(self, kill_in=None):
        super().__init__(daemon=True)
        self.peak, self.killed, self.kill_in, self.over = 0, None, kill_in, threading.Event()

    def run(self):
        while not self.over.wait(.002 if self.kill_in and not self.killed else .1):
            for p in Path('/proc').glob('[0-9]*'):
                try:
                    if b'pyspark.daemon' not in (p/'cmdline').read_bytes(): continue
                    status = dict(line.split(':', 1) for line in (p/'status').read_text().splitlines())
                    self.peak = max(self.peak, int(status.get('VmHWM', '0 kB').split()[0])*1024)
                    if self.kill_in and not self.killed and any(os.readlink(f).startswith(f'{self.kill_in}/.staging/shard_') for f in (p/'fd').iterdir()):
                        os.kill(int(p.name), signal.SIGKILL)
                        self.killed = p.name
                except (FileNotFoundError, ProcessLookupError): pass  # it has ended meanwhile


def session():
    from pyspark.sql import SparkSession
    os.environ['PYSPARK_PYTHON'] = sys.executable
    began = time.perf_counter()
    builder = SparkSession.builder.master(MASTER).config('spark.driver.memory', '2g').config('spark.ui.enabled', 'false')
    spark = builder.config('spark.ui.showConsoleProgress', 'false').getOrCreate()
    spark.sparkContext.setLogLevel('OFF')
    return spark, time.perf_counter() - began


def read(spark, tables, parts, name):
    table = spark.read.parquet(f'{tables}/{name}')
    return table.repartition(parts) if parts else table


def scan(tables, name):
    import polars as pl
    return pl.scan_parquet(f'{tables}/{name}/*.parquet')


def same(a, b):
    files = lambda path: {f.name: f.read_bytes() for f in path.glob('[!.]*')}
    a, b = files(a), files(b)
    return f'{len(a)} files, equal to the byte' if a == b else f'DIFFERENT: {sorted(k for k in a.keys() | b.keys() if a.get(k) != b.get(k))}'


def main(args):
    warnings.filterwarnings('ignore', message='PySpark does not yet fully support pandas')
    spark, startup = session()
    with tempfile.TemporaryDirectory(dir=args.work) as d:
        d = Path(d)
        make(d/'first', .001)
        began = time.perf_counter()
        timed_write(partial(read, spark, d/'first', 1), d/'first_out', 2)
        print(f'start-up: {startup:.1f} s for the session, {time.perf_counter() - began:.1f} s for the first write, of a thousand events')
        for millions in args.events:
            tables, n_shards = d/f'{millions:g}', max(2, round(millions*2.2))
            make(tables, millions)
            rows = {'without Spark': timed_write(partial(scan, tables), d/'here', n_shards)}
            print(f'\n{millions:g} M events, {n_shards} shards')
            for parts in [*args.partitions, *(['killed'] if args.kill else [])]:
                out = d/'spark'
                workers = Workers(out if parts == 'killed' else None)
                workers.start()
                n = 4 if parts == 'killed' else parts
                took = timed_write(partial(read, spark, tables, n), out, n_shards)
                workers.over.set()
                workers.join()
                rows[f'{MASTER}, {n} partitions' + (', one worker killed' if workers.killed else '')] = took
                print(f'{n} partitions{", worker killed: " + str(bool(workers.killed)) if parts == "killed" else ""}: {same(d/"here", out)}; '
                      f'peak of a worker {workers.peak/1e6:,.0f} MB')
                shutil.rmtree(out)
            stages = list(rows['without Spark'])
            print('\n| seconds | ' + ' | '.join(stages) + ' | million events a second |\n' + '| --- '*(len(stages) + 2) + '|')
            for name, took in rows.items():
                print(f'| {name} | ' + ' | '.join(f'{took.get(s, 0):.1f}' for s in stages) + f' | {millions/took["total"]:.2f} |')
            sys.stdout.flush()
            for path in (tables, d/'here'): shutil.rmtree(path)
    spark.stop()


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--events', type=float, nargs='+', default=[1, 10])
    parser.add_argument('--partitions', type=int, nargs='+', default=[0, 1, 7, 50], help='0: as Spark reads the files')
    parser.add_argument('--kill', action='store_true')
    parser.add_argument('--work')
    main(parser.parse_args())

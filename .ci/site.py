"Build the site into _docs without Quarto, which nbdev-docs needs, and check that every link inside it leads somewhere."
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from nbdev.serve import proc_nbs
from smalldocs.config import load
from smalldocs.site import Site

root = Path(__file__).parent.parent
pages, site = root/'_proc', root/'_docs'


def rename():
    "Quarto names a page by its `output-file`; here the notebook takes that name before it is rendered, and links follow"
    names = {}
    for f in pages.rglob('*.ipynb'):
        first = ''.join(json.loads(f.read_text(encoding='utf-8'))['cells'][0]['source'])
        names[f.name] = re.search(r'^output-file: (.+)\.html$', first, re.M)[1] + '.ipynb'
        f.rename(f.with_name(names[f.name]))
    known = re.compile('|'.join(rf'(?<![\w.-]){re.escape(n)}' for n in names))
    for f in [*pages.rglob('*.ipynb'), pages/'sidebar.yml']:
        text = known.sub(lambda m: names[m[0]], f.read_text(encoding='utf-8'))
        text = re.sub(r'\[source\]\(/?blob/[^)]*\)\{[^}]*\}', '', text)  # they need the address of a repository
        f.write_text(text, encoding='utf-8')


class Page(HTMLParser):
    "The ids of a page, and where it leads"
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = {''}, []
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs.get('id'), attrs.get('name') if tag == 'a' else None} - {None}
        self.links += [attrs[k] for k in ('href', 'src') if attrs.get(k)]


def check():
    "Every link to a page, a place in it, a picture or a file of the site resolves"
    parsed = {f: Page(f) for f in site.rglob('*.html')}
    bad, n, anchors = [], 0, 0
    for f, page in parsed.items():
        for link in page.links:
            if urlsplit(link).scheme or link.startswith('//'): continue
            path, anchor = map(unquote, urldefrag(link))
            path = urlsplit(path).path
            to = f if not path else (site/path[1:] if path.startswith('/') else f.parent/path).resolve()
            if to.is_dir(): to = to/'index.html'
            n, anchors = n + 1, anchors + bool(anchor)
            if not to.is_file() or not to.is_relative_to(site.resolve()): bad.append(f'{f.relative_to(site)}: {link}: no such file')
            elif anchor and to in parsed and anchor not in parsed[to].ids: bad.append(f'{f.relative_to(site)}: {link}: no such place')
    print(*bad, sep='\n')
    print(f'{len(parsed)} pages, {n:,} links inside the site, {anchors:,} of them to a place in a page; {len(bad)} lead nowhere')
    return bad or len(parsed) < len(list((root/'nbs').glob('*.ipynb')))


if __name__ == '__main__':
    proc_nbs()
    rename()
    made = Site(load(pages), quiet=True)
    made.out = site
    made.build()
    sys.exit(1 if check() else 0)

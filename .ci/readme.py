"Write README.md from nbs/index.ipynb without Quarto, which nbdev-readme needs; or check with --check that it is what the notebook says."
import json
import re
import sys
from pathlib import Path

root = Path(__file__).parent.parent


def output(out):
    "An output as text, indented as code"
    text = out.get('text') or out['data']['text/plain']
    return '\n\n' + '\n'.join('    ' + line for line in ''.join(text).rstrip().split('\n')).replace('    \n', '\n')


def cell(c):
    "A cell as markdown; nothing for a hidden one"
    source = ''.join(c['source']).strip()
    if c['cell_type'] == 'markdown': return re.sub(r'\]\((?=[\w./]+\.(ipynb|svg))', '](nbs/', source)
    if source.startswith('#| hide'): return None
    return f'```python\n{source}\n```' + ''.join(output(o) for o in c['outputs'])


cells = json.loads((root/'nbs/index.ipynb').read_text(encoding='utf-8'))['cells']
text = '<!-- Made from nbs/index.ipynb by .ci/readme.py -->\n\n' + '\n\n'.join(filter(None, map(cell, cells))) + '\n'
readme = root/'README.md'
if '--check' in sys.argv: sys.exit(0 if readme.read_text(encoding='utf-8') == text else 'README.md is not what nbs/index.ipynb says: run python .ci/readme.py')
readme.write_text(text, encoding='utf-8')

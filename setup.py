"Give setuptools what settings.ini says; everything else stands in pyproject.toml."
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

parser = ConfigParser(delimiters=['='])
parser.read(Path(__file__).parent/'settings.ini', encoding='utf-8')
settings = parser['DEFAULT']

setup(
    author=settings['author'],
    install_requires=settings['requirements'].split(),
    extras_require={'dev': settings['dev_requirements'].split(), 'spark': settings['spark_requirements'].split()},
    entry_points={'console_scripts': settings['console_scripts'].split(),
                  'nbdev': ['fastpragma=fastpragma._modidx:d']})

import { describe, expect, it } from 'vitest';
import { editorLink } from '../../page/editors.js';
import { RateHistory } from '../../page/histories.js';
import { sorted, startUpRows } from '../../page/rows.js';

describe('rows of a table', () => {
  const rows = [{ n: 9 }, { n: 10 }, { n: 9, later: true }];

  it('are sorted by numbers as numbers, and stay in order where they are equal', () => {
    expect(sorted(rows, ({ n }) => n, true)).toEqual([{ n: 10 }, { n: 9 }, { n: 9, later: true }]);
    expect(sorted(rows, ({ n }) => n, false)).toEqual([{ n: 9 }, { n: 9, later: true }, { n: 10 }]);
  });

  it('are sorted by texts as people do', () => {
    expect(sorted(['b', 'B', 'a'], (text) => text, false)).toEqual(['a', 'b', 'B']);
  });
});

describe('a line of code in an editor', () => {
  const folder = '/home/me/shop/';

  it('is a file below the folder of the project', () => {
    expect(editorLink('src/orders.ts:42:7', { editor: 'vscode', folder })).toBe(
      'vscode://file/home/me/shop/src/orders.ts:42:7',
    );
    expect(editorLink('place (src/orders.ts:42:7)', { editor: 'idea', folder })).toBe(
      'idea://open?file=/home/me/shop/src/orders.ts&line=42&column=7',
    );
    expect(editorLink('src/orders.ts:42', { editor: 'cursor', folder: String.raw`C:\shop` })).toBe(
      'cursor://file/C:/shop/src/orders.ts:42:1',
    );
  });

  it('needs no folder where the path is absolute', () => {
    expect(editorLink('/srv/a.ts:1:2', { editor: 'zed', folder: '' })).toBe('zed://file/srv/a.ts:1:2');
  });

  it('is no link without an editor, a folder or a line, or for an editor nobody knows', () => {
    expect(editorLink('src/a.ts:1:2', { editor: '', folder })).toBeUndefined();
    expect(editorLink('src/a.ts:1:2', { editor: 'vscode', folder: '' })).toBeUndefined();
    expect(editorLink('It was opened before', { editor: 'vscode', folder })).toBeUndefined();
    expect(editorLink('src/a.ts:1:2', { editor: 'javascript', folder })).toBeUndefined();
  });
});

describe('the start-up', () => {
  it('tells what a service cost without its dependencies', () => {
    const services = [
      { box: 'application', key: 'IConfig', at: 120, took: 10 },
      { box: 'application', key: 'IPool', at: 180, took: 50 },
      { box: 'application', key: 'IShop', at: 200, took: 95 },
    ];
    expect(startUpRows({ services }).map(({ key, own }) => [key, own])).toEqual([
      ['IConfig', 10],
      ['IPool', 50],
      ['IShop', 35],
    ]);
  });
});

describe('the rates of routes', () => {
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([route, count]) => ({ method: 'GET', route, count }));

  it('are what was counted in each second, the busiest first', () => {
    const history = new RateHistory();
    for (const counts of [{ '/a': 100 }, { '/a': 101, '/b': 5 }, { '/a': 101, '/b': 7 }]) history.take(counted(counts));
    expect(history.busiest()).toEqual([
      { name: 'GET /b', rates: [5, 2] },
      { name: 'GET /a', rates: [0, 1, 0] },
    ]);
  });

  it('are of a minute at most, of routes that are counted, and never negative', () => {
    const history = new RateHistory();
    for (let second = 0; second < 100; second++) history.take(counted({ '/a': second, '/b': 1 }));
    history.take(counted({ '/a': 3 }));
    const [line] = history.busiest();
    expect([line?.rates.length, line?.rates.at(-1), history.busiest().length]).toEqual([60, 0, 1]);
  });
});

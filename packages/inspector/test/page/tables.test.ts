import { describe, expect, it } from 'vitest';
import { editorLink } from '../../page/requests/request-data.js';
import { filterOf, readFilter } from '../../page/filter/filter.js';
import { routeRows, sorted, startUpLength, startUpRows } from '../../page/tables/rows.js';
import type { RouteStats, StartUp } from '../../src/wire.js';
import { summary } from '../support/requests.js';

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

describe('the row of a route', () => {
  const route = (given: Partial<RouteStats>): RouteStats => ({
    method: 'GET',
    route: '/',
    count: 4,
    failed: 1,
    refused: 0,
    aborted: 0,
    rolledBack: 0,
    p50: 1,
    p95: 1,
    p99: 1,
    longest: 1,
    total: 30,
    statements: 6,
    statementMs: 1,
    ...given,
  });

  it('has shares of the errors and of all time', () => {
    expect(routeRows([route({}), route({ total: 90, failed: 0 })])).toMatchObject([
      { errorShare: 0.25, statementsEach: 1.5, timeShare: 0.25 },
      { errorShare: 0, timeShare: 0.75 },
    ]);
  });

  it('has no shares of nothing', () => {
    expect(routeRows([route({ count: 0, total: 0 })])).toMatchObject([{ errorShare: 0, timeShare: 0 }]);
  });
});

describe('the filter that a row opens', () => {
  const facts = { boot: 'b', slowMs: 1, isPinned: () => false };

  it.for(['SELECT "name" FROM "users" WHERE id = $1', 'SELECT 1\nFROM users'])('finds %s', (sql) => {
    const { matches, problem } = readFilter(filterOf('statement', sql));
    expect(problem).toBeUndefined();
    expect(matches(summary({ texts: [0] }), { ...facts, names: [sql] })).toBe(true);
    expect(matches(summary({ texts: [0] }), { ...facts, names: ['SELECT other'] })).toBe(false);
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
  const startUp: StartUp = {
    inspected: 100,
    firstRequest: 5000,
    services: [
      { box: 'application', key: 'IConfig', at: 120, took: 10 },
      { box: 'application', key: 'IPool', at: 180, took: 50 },
      { box: 'application', key: 'IShop', at: 200, took: 95 },
    ],
  };

  it('lasts until the last service is complete', () => {
    expect(startUpLength(startUp)).toBe(200);
  });

  it('tells what a service cost without its dependencies', () => {
    expect(startUpRows(startUp, 200, 'cost').map(({ key, own }) => [key, own])).toEqual([
      ['IPool', 50],
      ['IShop', 35],
      ['IConfig', 10],
    ]);
  });

  it('is in order of time, each from its beginning', () => {
    expect(startUpRows(startUp, 200, 'time').map(({ key, from }) => [key, from])).toEqual([
      ['IShop', 0.525],
      ['IConfig', 0.55],
      ['IPool', 0.65],
    ]);
  });
});

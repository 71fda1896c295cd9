import { describe, expect, test } from 'vitest';
import { anomaliesOf, type AnomalyName, FORBIDDEN, type Operation, type RecordedTransaction } from '@ambit/test-kit';

/**
 * A history as the literature writes it, one transaction a line: `T1: r(x, []) a(x, 1) sub(a(y, 2)) undone(a(y, 3))`. `i(x, 1)` is a
 * row, and `s(x y, [1])` a select of the rows of x and y. Behind the name may stand `rolled back` or `unknown`, and when it began and finished: `T1 @ 1-4: ...`. Without times all run at once.
 */
function written(text: string): RecordedTransaction[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const {
        name = '',
        outcome = 'committed',
        began = 0,
        finished = Infinity,
        steps = '',
      } = /^\s*(?<name>\w+)(?: (?<outcome>rolled back|unknown))?(?: @ (?<began>\d+)-(?<finished>\d+))?: (?<steps>.*)$/.exec(
        line,
      )?.groups ?? {};
      return {
        name,
        outcome: outcome as RecordedTransaction['outcome'],
        began: Number(began),
        finished: Number(finished),
        operations: operationsOf(steps),
      };
    });
}

function operationsOf(steps: string): Operation[] {
  const found = steps.matchAll(
    /([rs])\(([\w ]+), \[([\d ]*)\]\)|([ai])\((\w+), (\d+)\)|(sub|undone)\(((?:[^()]|\([^()]*\))*)\)/g,
  );
  return Array.from(
    found,
    ([, read, keys = '', list = '', write, key = '', element, nested, inner = '']): Operation => {
      if (nested) return { kind: 'nested', undone: nested === 'undone', operations: operationsOf(inner) };
      if (write) return { kind: write === 'a' ? 'append' : 'insert', key, element: Number(element) };
      const elements = list.split(' ').filter(Boolean).map(Number);
      return read === 'r' ? { kind: 'read', key: keys, elements } : { kind: 'select', keys: keys.split(' '), elements };
    },
  );
}

const namesOf = (text: string): AnomalyName[] => [...new Set(anomaliesOf(written(text)).map(({ name }) => name))];

/** Where an example is known from, and the anomalies that it has: the first is the gravest, and has to be found. */
const EXAMPLES: readonly (readonly [string, string, readonly AnomalyName[]])[] = [
  [
    'G0: writes of two transactions interleave',
    `T1: a(x, 1) a(y, 2)
     T2: a(x, 3) a(y, 4)
     T3: r(x, [1 3]) r(y, [4 2])`,
    ['dirty write (G0)'],
  ],
  [
    'G1a: a read of what was rolled back',
    `T1 rolled back: a(x, 1)
     T2: r(x, [1])`,
    ['aborted read (G1a)'],
  ],
  [
    'G1b: a read between two writes of another transaction',
    `T1: a(x, 1) a(x, 2)
     T2: r(x, [1])
     T3: r(x, [1 2])`,
    ['intermediate read (G1b)', 'read skew (G-single)'],
  ],
  [
    'G1c: each of two transactions read what the other wrote',
    `T1: a(x, 1) r(y, [2])
     T2: a(y, 2) r(x, [1])`,
    ['circular information flow (G1c)'],
  ],
  [
    'P4: a lost update',
    `T1: r(x, []) a(x, 1)
     T2: r(x, []) a(x, 2)
     T3: r(x, [1 2])`,
    ['lost update (P4)'],
  ],
  [
    'P2: a read that gives another result the second time',
    `T1: r(x, []) r(x, [1])
     T2: a(x, 1)`,
    ['non-repeatable read', 'read skew (G-single)'],
  ],
  [
    'A5A: read skew',
    `T1: r(x, []) r(y, [2])
     T2: a(x, 1) a(y, 2)
     T3: r(x, [1])`,
    ['read skew (G-single)'],
  ],
  [
    'a write over what the snapshot does not show',
    `T1: r(x, []) a(y, 3)
     T2: a(x, 1) a(y, 2)
     T3: r(x, [1]) r(y, [2 3])`,
    ['write after a stale read (G-single)'],
  ],
  [
    'a long fork, which parallel snapshot isolation allows',
    `T1: a(x, 1)
     T2: a(y, 2)
     T3: r(x, [1]) r(y, [])
     T4: r(x, []) r(y, [2])`,
    ['long fork (G-nonadjacent)'],
  ],
  [
    'A5B: write skew',
    `T1: r(x, []) r(y, []) a(x, 1)
     T2: r(x, []) r(y, []) a(y, 2)
     T3: r(x, [1]) r(y, [2])`,
    ['write skew (G2-item)'],
  ],
  [
    'a read of what had been overwritten, and acknowledged, before it began',
    `T1 @ 1-2: a(x, 1)
     T2 @ 3-4: r(x, [])
     T3 @ 5-6: r(x, [1])`,
    ['stale read'],
  ],
  [
    'a later transaction that wrote the older version',
    `T1 @ 1-2: a(x, 1)
     T2 @ 3-4: a(x, 2)
     T3 @ 5-6: r(x, [2 1])`,
    ['circular information flow in real time'],
  ],
  [
    'a snapshot that shows the later of two transactions alone',
    `T1 @ 1-2: a(x, 1)
     T2 @ 3-4: a(y, 2)
     T3 @ 0-9: r(x, []) r(y, [2])
     T4 @ 10-11: r(x, [1])`,
    ['read skew in real time'],
  ],
  [
    'a long fork that only the clock shows',
    `T1 @ 1-9: a(x, 1)
     T2 @ 1-2: a(y, 2)
     T3 @ 1-9: r(x, [1]) r(y, [])
     T4 @ 3-4: r(x, [])
     T5 @ 10-11: r(x, [1]) r(y, [2])`,
    ['long fork in real time'],
  ],
  [
    'a write behind a later one, by a transaction that has not seen an earlier one',
    `T1 @ 0-9: r(x, []) a(y, 3)
     T2 @ 1-2: a(x, 1)
     T3 @ 3-4: a(y, 2)
     T4 @ 10-11: r(x, [1]) r(y, [2 3])`,
    ['write after a stale read in real time'],
  ],
  [
    'a serial order that contradicts nothing but the clock',
    `T1 @ 1-9: r(y, []) a(x, 1)
     T2 @ 1-2: a(y, 2)
     T3 @ 3-4: r(x, [])
     T4 @ 10-11: r(x, [1]) r(y, [2])`,
    ['serialization in real time'],
  ],
  [
    'an acknowledged write that was never stored',
    `T1 @ 1-2: a(x, 1)
     T2 @ 3-4: r(x, [])`,
    ['lost write'],
  ],
  [
    'an own write that is not read',
    `T1: a(x, 1) r(x, [])
     T2: r(x, [1])`,
    ['own write not read', 'lost update (P4)'],
  ],
  ['an element twice', 'T1: a(x, 1) r(x, [1 1])', ['duplicate element']],
  ['an element that nobody wrote', 'T1: r(x, [7])', ['unknown element']],
  [
    'two writes of one transaction, stored in the other order',
    `T1: a(x, 1) a(x, 2)
     T2: r(x, [2 1])`,
    ['incompatible orders', 'intermediate read (G1b)'],
  ],
  [
    'P3: a row that appears where a predicate is read again',
    `T1: s(x y, []) s(y z, [1])
     T2: i(y, 1)`,
    ['phantom (P3)', 'read skew (G-single)'],
  ],
  [
    "G2: two transactions, each of which inserts what the other's predicate matches",
    `T1: s(x y, []) i(x, 1)
     T2: s(x y, []) i(y, 2)
     T3: s(x y, [2 1])`,
    ['write skew by predicate (G2)'],
  ],
];

describe('the anomalies of known histories', () => {
  test.each(EXAMPLES)('%s', (_where, text, names) => {
    const found = namesOf(text);
    expect(found[0]).toBe(names[0]);
    expect(names).toEqual(expect.arrayContaining(found));
  });

  test('each kind has an example', () => {
    const all = new Set(EXAMPLES.flatMap(([, text]) => namesOf(text)));
    expect([...FORBIDDEN['strict serializable']].filter((name) => !all.has(name))).toEqual([]);
  });
});

describe('what is no anomaly', () => {
  test.each([
    [
      'an unknown outcome that nobody sees',
      `T1 unknown @ 1-2: a(x, 1) a(y, 2)
       T2 @ 3-4: r(x, []) r(y, [])`,
    ],
    [
      'an unknown outcome that is stored',
      `T1 unknown: a(x, 1) a(y, 2)
       T2 @ 3-4: r(x, [1]) r(y, [2])
       T3 @ 5-6: r(x, [1]) r(y, [2])`,
    ],
    [
      'what a transaction that rolled back has read, whatever it was',
      `T1 rolled back: r(x, [1]) r(x, []) r(y, [7])
       T2: a(x, 1)`,
    ],
    [
      'own writes, and a savepoint that is read while it is open',
      `T1: a(x, 1) undone(a(x, 2) r(x, [1 2])) r(x, [1]) sub(a(x, 3)) r(x, [1 3])
       T2: r(x, [1 3])`,
    ],
    [
      'a transaction before another that began at the same time',
      `T1 @ 1-5: a(x, 1)
       T2 @ 1-5: r(x, [])
       T3 @ 6-7: r(x, [1])`,
    ],
    [
      'read-only transactions on both sides of a write',
      `T1: r(x, []) r(y, [])
       T2: a(x, 1) a(y, 2)
       T3: r(y, [2]) r(x, [1])`,
    ],
    [
      'rows in any order, own ones among them, and one that another select does not match',
      `T1: i(x, 1) s(x y, [2 1]) undone(i(x, 3) s(x, [1 3])) s(x, [1])
       T2: i(y, 2)
       T3: s(y, [2]) s(x, [1]) s(z, [])`,
    ],
  ])('%s', (_what, text) => {
    expect(anomaliesOf(written(text))).toEqual([]);
  });
});

test('an anomaly says why each of its transactions follows the other', () => {
  const history = written(`T1: r(x, []) r(y, [2])
    T2: a(x, 1) a(y, 2)
    T3: r(x, [1])`);
  expect(anomaliesOf(history)).toMatchObject([
    {
      name: 'read skew (G-single)',
      transactions: ['T1', 'T2'],
      because: ['T1 -rw-> T2: T1 read x as [], without 1 of T2', 'T2 -wr-> T1: T1 read y as [2], with 2 of T2'],
    },
  ]);
});

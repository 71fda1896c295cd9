import { describe, expect, test } from 'vitest';
import {
  anomaliesOf,
  type AnomalyName,
  Chance,
  describeAnomaly,
  firstSeed,
  FORBIDDEN,
  type Operation,
  type RecordedTransaction,
  runsOr,
} from '../src/index.js';
import { Executor, type Level } from './support/executor.js';

const levels = Object.keys(FORBIDDEN) as Level[];
const seeds = Array.from({ length: runsOr(300) }, (_, at) => firstSeed + at);

describe.each(levels)('histories of a database in memory that keeps %s', (level) => {
  test('have none of the anomalies that it forbids', () => {
    for (const seed of seeds) {
      const history = new Executor(new Chance(seed), level).run(40, 5);
      const forbidden = anomaliesOf(history).find(({ name }) => FORBIDDEN[level].has(name));
      expect(forbidden && `SEED ${seed}: ${describeAnomaly(history, forbidden)}`).toBeUndefined();
    }
  });
});

test('histories of a weaker level have what only the stronger ones forbid', () => {
  const seen = (level: Level): Set<AnomalyName> =>
    new Set(
      seeds.flatMap((seed) => anomaliesOf(new Executor(new Chance(seed), level).run(40, 5)).map(({ name }) => name)),
    );
  const found = levels.map((level) => [...seen(level)].toSorted());
  expect(found).toEqual([
    [
      'long fork (G-nonadjacent)',
      'long fork in real time',
      'lost update (P4)',
      'non-repeatable read',
      'phantom (P3)',
      'read skew (G-single)',
      'read skew in real time',
      'serialization in real time',
      'write after a stale read (G-single)',
      'write after a stale read in real time',
      'write skew (G2-item)',
      'write skew by predicate (G2)',
    ],
    [
      'lost update (P4)',
      'serialization in real time',
      'write after a stale read (G-single)',
      'write after a stale read in real time',
      'write skew (G2-item)',
      'write skew by predicate (G2)',
    ],
    ['serialization in real time', 'write skew (G2-item)', 'write skew by predicate (G2)'],
    [],
  ]);
});

const LISTS = ['x', 'y'];
const ROWS = ['p', 'q'];

/** A few transactions whose reads are beginnings of a random order, and two that read everything at the end. */
function anyHistory(chance: Chance): RecordedTransaction[] {
  let element = 0;
  const writes: { key: string; element: number }[] = [];
  const plans = Array.from({ length: 2 + chance.below(3) }, () =>
    Array.from({ length: 1 + chance.below(3) }, () => {
      const key = chance.pick([...LISTS, ...ROWS]);
      if (chance.of(0.5)) return { key, element: undefined };
      element += 1;
      writes.push({ key, element });
      return { key, element };
    }),
  );
  const order = (key: string): number[] => {
    const elements = writes.flatMap((write) => (write.key === key ? [write.element] : []));
    return chance.of(0.6) ? elements : elements.toSorted(() => chance.next() - 0.5);
  };
  const orders = new Map(LISTS.map((key) => [key, order(key)]));
  const ofKey = (key: string): number[] => orders.get(key) ?? [];
  const inserted = writes.filter(({ key }) => ROWS.includes(key)).toSorted(() => chance.next() - 0.5);
  const selectOf = (keys: readonly string[], own: readonly number[]): Operation => {
    const first = inserted.slice(0, chance.below(inserted.length + 1));
    const rows = inserted.filter((row) => keys.includes(row.key) && (own.includes(row.element) || first.includes(row)));
    return { kind: 'select', keys, elements: rows.map((row) => row.element) };
  };
  const transactions = plans.map((plan, at): RecordedTransaction => {
    const began = chance.below(6);
    const own = new Map<string, number>();
    const ownRows: number[] = [];
    const operations = plan.map((step): Operation => {
      const { key } = step;
      if (ROWS.includes(key)) {
        if (step.element === undefined) return selectOf(chance.of(0.5) ? ROWS : [key], chance.of(0.9) ? ownRows : []);
        ownRows.push(step.element);
        return { kind: 'insert', key, element: step.element };
      }
      if (step.element !== undefined) {
        own.set(key, step.element);
        return { kind: 'append', key, element: step.element };
      }
      const written = own.get(key);
      const length =
        written === undefined || chance.of(0.1) ? chance.below(ofKey(key).length + 1) : ofKey(key).indexOf(written) + 1;
      return { kind: 'read', key, elements: ofKey(key).slice(0, length) };
    });
    return { name: `T${at}`, outcome: 'committed', began, finished: began + 1 + chance.below(6), operations };
  });
  const reads = [
    ...LISTS.map((key): Operation => ({ kind: 'read', key, elements: ofKey(key) })),
    { kind: 'select', keys: ROWS, elements: inserted.map((row) => row.element) } as const,
  ];
  const last = ['last', 'again'].map((name, at): RecordedTransaction => ({
    name,
    outcome: 'committed',
    began: 20 + 2 * at,
    finished: 21 + 2 * at,
    operations: reads,
  }));
  return [...transactions, ...last];
}

/** Whether one transaction after the other, in an order that no clock contradicts, gives these reads. Tries all orders. */
function isSerial(
  left: readonly RecordedTransaction[],
  lists: ReadonlyMap<string, readonly number[]> = new Map(),
): boolean {
  if (left.length === 0) return true;
  return left.some((next) => {
    if (left.some((other) => other.finished < next.began)) return false;
    const after = new Map(lists);
    for (const one of next.operations) {
      if (one.kind === 'nested') return false;
      if (one.kind === 'select') {
        const rows = one.keys.flatMap((key) => after.get(key) ?? []);
        if (rows.length !== one.elements.length || rows.some((row) => !one.elements.includes(row))) return false;
        continue;
      }
      const elements = after.get(one.key) ?? [];
      if (one.kind !== 'read') after.set(one.key, [...elements, one.element]);
      else if (one.elements.join() !== elements.join()) return false;
    }
    return isSerial(
      left.filter((other) => other !== next),
      after,
    );
  });
}

test('a history has no anomaly exactly where a serial order gives it', () => {
  const count = { serial: 0, anomalous: 0 };
  for (let seed = firstSeed; seed < firstSeed + runsOr(300) * 40; seed += 1) {
    const history = anyHistory(new Chance(seed));
    const anomalies = anomaliesOf(history);
    const expected = isSerial(history);
    count[expected ? 'serial' : 'anomalous'] += 1;
    if (expected !== (anomalies.length === 0))
      expect(
        `SEED ${seed}: ${expected ? 'serial' : 'not serial'}, and has ${anomalies[0] ? describeAnomaly(history, anomalies[0]) : `no anomaly: ${JSON.stringify(history)}`}`,
      ).toBe('');
  }
  expect(Math.min(count.serial, count.anomalous)).toBeGreaterThan(1000);
});

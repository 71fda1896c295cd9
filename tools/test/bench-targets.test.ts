import { describe, expect, it } from 'vitest';

type Measure = number | Record<string, number>;
interface Verdict {
  row: string;
  to: string;
  got: number | undefined;
  kept: boolean;
}
interface Results {
  works: Record<string, Record<string, Measure[] | Error>>;
}

// The benchmark is a project of its own, which the compiler does not check: a path that it cannot follow.
const bench = (file: string) => import(new URL(`../../bench/scope/${file}`, import.meta.url).href) as Promise<unknown>;
const { judge, rowsOf } = (await bench('targets.mjs')) as {
  judge: (results: Results) => Verdict[];
  rowsOf: (work: string) => string[];
};
const { targets, works } = (await bench('works.mjs')) as {
  targets: Record<string, Record<string, number>>;
  works: Record<string, object>;
};

/** The verdicts on a work, as `node bench/run.mjs --check` reads them. */
const verdictsOn = (work: string, by: Record<string, Measure[] | Error>) =>
  judge({ works: { [work]: by } }).map(({ row, to, got, kept }) => ({ row, to, got, kept }));

describe('the targets of the scope benchmark', () => {
  it('name works and measures that exist', () => {
    const rows = Object.keys(works).flatMap(rowsOf);
    expect(Object.keys(targets).filter((row) => !rows.includes(row))).toEqual([]);
  });

  it('compare the least of all rounds, as neighbours only ever add to a time', () => {
    expect(verdictsOn('main', { ambit: [900, 200], hand: [100, 700], inferdi: [1000, 2000] })).toEqual([
      { row: 'main', to: 'hand', got: 2, kept: true },
      { row: 'main', to: 'inferdi', got: 0.2, kept: true },
    ]);
  });

  it('are missed when it takes longer', () => {
    expect(verdictsOn('main', { ambit: [300], hand: [100] })).toEqual([
      { row: 'main', to: 'hand', got: 3, kept: false },
    ]);
  });

  it('are missed by work that fails', () => {
    expect(verdictsOn('keys-10000', { ambit: new Error('out of memory'), hand: [{ ms: 1, MB: 0 }] })).toEqual([
      { row: 'keys-10000: MB', to: 'is', got: undefined, kept: false },
    ]);
  });

  it('compare microseconds of a whole test with the nanoseconds of main', () => {
    const [first] = verdictsOn('override', { ambit: [{ µs: 20, MB: 0 }], main: [200] });
    expect(first).toEqual({ row: 'override: µs', to: 'main', got: 100, kept: true });
  });

  it('are not judged where the other side was not measured', () => {
    expect(verdictsOn('deep', { ambit: [300] })).toEqual([]);
  });
});

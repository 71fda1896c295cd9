import { databases, hasPostgres } from '@ambit/test-kit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { planOf } from '../src/plan.js';

const available = databases.filter(({ missing }) => !missing);
describe.each(available)('the plan of a statement on $name', ({ name, open }) => {
  it('is that of any values, names the table or index, changes nothing and shows no value', async () => {
    const { pool, drop } = await open({ writers: 1 });
    onTestFinished(drop);
    await pool.query('CREATE TABLE parts (id INTEGER PRIMARY KEY, name VARCHAR(20), level INTEGER)');
    await pool.query("INSERT INTO parts VALUES (1, 'canary', 4711), (2, 'other', 1)");
    for (const [sql, shown] of [
      ["SELECT * FROM parts WHERE name = 'canary' AND level > 4711 AND id > $1", /parts/],
      ['UPDATE parts SET level = 4711 WHERE level < $1', /scan.* parts|type: index/i],
      ['DELETE FROM parts WHERE id = $1', { PostgreSQL: /parts_pkey/, SQLite: /PRIMARY KEY/ }[name] ?? /key: PRIMARY/],
      ['INSERT INTO parts (id, name) VALUES ($1, $2)', { SQLite: /nothing to plan/ }[name] ?? /parts/],
    ] as const) {
      const plan = (await planOf(pool, sql)).join('\n');
      expect([sql, plan]).toEqual([sql, expect.stringMatching(shown)]);
      expect(plan).not.toMatch(/canary|4711/);
    }
    expect(await pool.query('SELECT level FROM parts ORDER BY id')).toMatchObject([{ level: 4711 }, { level: 1 }]);
    await expect(planOf(pool, 'SELECT * FROM nothing')).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED' });
    expect(await pool.query('SELECT id FROM parts')).toHaveLength(2);
  });
});

it.runIf(hasPostgres)('a scan that keeps few of its rows names the index that it lacks', async () => {
  const { pool, drop } = await databases.find(({ dialect }) => dialect === 'postgres')!.open();
  onTestFinished(drop);
  await pool.query('CREATE TABLE visits (id integer PRIMARY KEY, "petName" varchar, day integer)');
  await pool.query('INSERT INTO visits SELECT i, i % 100, i FROM generate_series(1, 5000) i');
  await pool.query('ANALYZE visits');
  const reads = (kept: number): string => `Reads 5,000 rows of visits to keep about ${kept}`;
  for (const [where, advice] of [
    [`day > $1 AND "petName" = '7'`, `${reads(17)}: an index on ("petName", day) would find them.`],
    ['lower("petName") = $1', `${reads(25)}.`],
    ['day = $1 OR "petName" = $2', `${reads(51)}.`],
    ['day > $1', expect.stringMatching(/^Seq Scan/) as string],
  ] as const)
    expect([where, (await planOf(pool, `SELECT * FROM visits v WHERE ${where}`))[0]]).toEqual([where, advice]);
});

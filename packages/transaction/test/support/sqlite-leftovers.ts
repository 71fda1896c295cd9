import type { Leftover } from '@ambit/testing/pools';

/** State that a connection of SQLite keeps beyond the transaction. */
const SQLITE_LEFTOVERS: readonly Leftover[] = [
  {
    what: 'foreign keys that are not checked',
    leave: ['PRAGMA foreign_keys = OFF'],
    look: 'PRAGMA foreign_keys',
    expected: { foreign_keys: 1 },
  },
  {
    what: 'that nothing can be written',
    leave: ['explain /* so */ pragma main."query_only"(1)', 'PRAGMA query_only = ON'],
    look: 'INSERT INTO weights VALUES (7) RETURNING grams',
    expected: { grams: 7 },
    setUp: ['CREATE TABLE weights (grams INTEGER)'],
  },
  {
    what: 'an attached database',
    leave: ["ATTACH ':memory:' AS other"],
    look: "SELECT count(*) AS n FROM pragma_database_list WHERE name = 'other'",
    expected: { n: 0 },
  },
  {
    what: 'a temporary table',
    leave: [
      'CREATE TEMP TABLE draft (id INTEGER)',
      'CREATE TEMP TRIGGER clear AFTER INSERT ON draft BEGIN DELETE FROM draft; END',
    ],
    look: 'SELECT count(*) AS n FROM sqlite_temp_master',
    expected: { n: 0 },
  },
];

const CASES: Leftover = {
  what: 'another meaning of LIKE',
  leave: ['PRAGMA case_sensitive_like = ON'],
  look: "SELECT 'a' LIKE 'A' AS folds",
  expected: { folds: 1 },
};

/** For a pool that opens another connection. */
export const LEFTOVERS_OF_FILES: readonly Leftover[] = [...SQLITE_LEFTOVERS, CASES];

/** For a pool that has one connection, and refuses what would stay with it. */
export const LEFTOVERS_OF_ONE_CONNECTION: readonly Leftover[] = LEFTOVERS_OF_FILES.map((leftover) =>
  leftover.leave.includes('PRAGMA query_only = ON')
    ? { ...leftover, leave: ['PRAGMA query_only = ON'] }
    : { ...leftover, leave: leftover.leave.slice(0, 1), refused: 'AMBIT_TX_UNSUPPORTED' },
);

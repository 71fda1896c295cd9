import type { Leftover } from '@ambit/testing/pools';

/** State that a session of PostgreSQL keeps beyond the transaction. */
export const POSTGRES_LEFTOVERS: readonly Leftover[] = [
  {
    what: 'a role',
    leave: ['SET ROLE pg_monitor'],
    look: "SELECT current_setting('role') AS role",
    expected: { role: 'none' },
  },
  {
    what: 'a search_path',
    leave: ["SET search_path = 'elsewhere'"],
    look: "SELECT current_setting('search_path') <> 'elsewhere' AS clean",
    expected: { clean: true },
  },
  {
    what: 'a setting',
    leave: ["SELECT set_config('lock_timeout', '7ms', false)"],
    look: "SELECT current_setting('lock_timeout') AS ms",
    expected: { ms: '0' },
  },
  {
    what: 'a lock',
    leave: ['SELECT pg_advisory_lock(4711, 3)'],
    look: "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND classid = 4711 AND objid = 3 AND pid = pg_backend_pid()",
    expected: { n: 0 },
  },
  {
    what: 'LISTEN',
    leave: ['LISTEN news'],
    look: 'SELECT count(*)::int AS n FROM pg_listening_channels()',
    expected: { n: 0 },
  },
  {
    what: 'a temporary table',
    leave: ['CREATE TEMP TABLE draft (id int)'],
    look: "SELECT to_regclass('pg_temp.draft') AS draft",
    expected: { draft: null },
  },
  {
    what: 'the id of a row',
    setUp: ['CREATE TABLE numbered (id serial PRIMARY KEY)'],
    leave: ['INSERT INTO numbered DEFAULT VALUES'],
    look: 'SELECT lastval() AS id',
    expected: { code: 'AMBIT_TX_UNSUPPORTED' },
  },
  {
    what: 'the number of a sequence',
    setUp: ['CREATE SEQUENCE numbers'],
    leave: ["SELECT nextval('numbers')"],
    look: "SELECT CURRVAL ('numbers') AS id",
    expected: { code: 'AMBIT_TX_UNSUPPORTED' },
  },
  {
    what: 'a prepared statement',
    leave: ['PREPARE mine AS SELECT 1'],
    look: "SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name = 'mine'",
    expected: { n: 0 },
  },
];

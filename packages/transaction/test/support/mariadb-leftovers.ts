import type { Leftover } from '@ambit/testing/pools';

/** State that a session of MariaDB keeps beyond the transaction. */
export const MARIADB_LEFTOVERS: readonly Leftover[] = [
  {
    what: 'a role',
    setUp: ['CREATE ROLE IF NOT EXISTS ambit_tests'],
    leave: ['SET ROLE ambit_tests'],
    look: 'SELECT CURRENT_ROLE() AS role',
    expected: { role: null },
  },
  {
    what: 'a default database',
    leave: ['USE information_schema'],
    look: "SELECT DATABASE() = 'information_schema' AS changed",
    expected: { changed: 0 },
  },
  {
    what: 'a setting',
    leave: ['SET SESSION lock_wait_timeout = 7'],
    look: 'SELECT @@lock_wait_timeout = 7 AS changed',
    expected: { changed: 0 },
  },
  {
    what: 'a variable',
    leave: ['SELECT 1 INTO @draft'],
    look: 'SELECT @draft AS draft',
    expected: { draft: null },
  },
  {
    what: 'a lock',
    leave: ["select get_lock/**/('ambit', 0)"],
    look: "SELECT IS_USED_LOCK('ambit') <=> CONNECTION_ID() AS held",
    expected: { held: 0 },
  },
  {
    what: 'a temporary table',
    leave: ['create/**/temporary table draft (id integer)'],
    look: 'SELECT id FROM draft',
    expected: { sqlState: '42S02' },
  },
  {
    what: 'a temporary table of a comment that the server runs',
    leave: ['create /*! temporary */ table draft (id integer)'],
    refused: 'AMBIT_TX_CONTROL_STATEMENT',
    look: 'SELECT id FROM draft',
    expected: { sqlState: '42S02' },
  },
  {
    what: 'the id of a row',
    setUp: ['CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTO_INCREMENT)'],
    leave: ['INSERT INTO numbered VALUES ()'],
    look: 'SELECT LAST_INSERT_ID() AS id',
    expected: { id: 0 },
  },
];

/** What the service offers no setting for, and counts of SQLite that it does not show. Imported before the service. */
import { createRequire } from 'node:module';

// The copy that the service uses; the benchmark has another one.
const Libsql = createRequire(new URL('../../../packages/transaction/dist/sqlite/', import.meta.url))('libsql');
const COUNT = `SELECT sum(nstep) AS rows, sum(nscan) AS scanned FROM sqlite_stmt WHERE sql NOT LIKE '%sqlite_stmt%'`;
const opened = new Set();
const exec = Reflect.get(Libsql.prototype, 'exec');
/** COMMIT does not wait for the disk, whose speed varies most. */
Reflect.set(Libsql.prototype, 'exec', function (sql) {
  opened.add(this);
  return exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'));
});

/** Of all statements that are prepared: steps of the virtual machine, and steps of scans. Nothing where there is no SQLite. */
export function usedBySqlite() {
  const used = { rows: 0, scanned: 0 };
  for (const database of [...opened].filter(({ open }) => open)) {
    const [row] = database.prepare(COUNT).all();
    used.rows += row.rows;
    used.scanned += row.scanned;
  }
  return opened.size > 0 ? used : {};
}

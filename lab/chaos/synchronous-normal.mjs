// Loaded into the service before it starts, because the service itself offers FULL only: for the row that shows what that is for.
import { DatabaseSync } from '../kit/sqlite.mjs';

const exec = Reflect.get(DatabaseSync.prototype, 'exec');
Reflect.set(DatabaseSync.prototype, 'exec', function (/** @type {string} */ sql) {
  // @ts-expect-error `this` is the database.
  return exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'));
});

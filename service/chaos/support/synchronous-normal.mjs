// Loaded into the service before it starts, because the service itself offers FULL only: for the row that shows what that is for.
import Libsql from 'libsql';

const exec = Reflect.get(Libsql.prototype, 'exec');
Reflect.set(Libsql.prototype, 'exec', function (/** @type {string} */ sql) {
  // @ts-expect-error `this` is the database.
  return exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'));
});

// Opens a pool as a user who owns nothing, and tells what came of it.
import { createSqlitePool } from '@ambit/transaction/sqlite';

// Nobody may not read the packages of this checkout.
await createSqlitePool({ path: ':memory:' }).close();
if (process.getuid() === 0) process.setuid(65534);
try {
  createSqlitePool({ path: process.argv[2] });
  process.send({ code: 'none' });
} catch ({ code, message, cause }) {
  process.send({ code, message, cause: cause?.message });
}
process.disconnect();

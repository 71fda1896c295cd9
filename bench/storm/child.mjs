/** One server in a process of its own: `child.mjs <contestant>`. Each message asks what it holds. */
import { createPostgresPool } from '@ambit/transaction/postgres';
import { contestants } from './contestants.mjs';
import { counts } from './service.mjs';

const troubles = { rejections: 0, exceptions: 0, warnings: 0 };
process.on('unhandledRejection', note('rejections'));
process.on('uncaughtException', note('exceptions'));
process.on('warning', note('warnings'));

const pool = createPostgresPool({ connectionString: process.env.STORM_DATABASE_URL, max: 8 });
const { port, open } = await contestants[process.argv[2]].start(pool);

process.on('message', () => {
  const { opened, disposed } = counts;
  const out = pool.size.open - pool.size.idle;
  // No service counts transaction scopes.
  process.send({ ...troubles, opened, disposed, open: Math.max(opened - disposed, open?.() ?? 0), out });
});
process.send(port);

function note(trouble) {
  return (what) => {
    if (troubles[trouble]++ === 0) console.error(`${process.argv[2]}, the first of its ${trouble}:`, what);
  };
}

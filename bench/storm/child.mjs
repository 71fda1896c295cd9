/** One server in a process of its own: `child.mjs <contestant>`. Each message asks what it holds. */
import { createPostgresPool } from '@ambit/transaction/postgres';
import { counts } from './service.mjs';

const troubles = { rejections: 0, exceptions: 0, warnings: 0 };
process.on('unhandledRejection', note('rejections'));
process.on('uncaughtException', note('exceptions'));
process.on('warning', note('warnings'));

const pool = createPostgresPool({ connectionString: process.env.STORM_DATABASE_URL, max: 8 });
const { contestant } = await import(`./contestants/${process.argv[2]}.mjs`);
const { port, open } = await contestant.start(pool);

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

// node replays.mjs <folder> <schema>: replays each recording, as it was and corrected, in a process that knows no database.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { replay } from '@ambit/replay/testing';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createPool } from 'mysql2/promise';
import { createShop } from './shop.mjs';

const [, , folder, schema] = process.argv;
const postgres = createPostgresPool({ connectionString: 'postgres://nobody@127.0.0.1:1/none', connectTimeoutMs: 100 });
const mariadb = fromMysql2Pool(createPool({ host: '127.0.0.1', port: 1 }), { max: 4 });
const outcomes = [];
for (const name of (await readdir(folder)).toSorted()) {
  const file = join(folder, name);
  const { fault, way, host } = JSON.parse(
    (await replay({ fetch: () => new Response() }, file)).recording.request.body.text,
  );
  const run = (isFixed) =>
    replay(async () => (await createShop({ postgres, mariadb, schema, isFixed })).servers[host], file);
  const [again, fixed] = [await run(false), await run(true)];
  const { outcome } = again.recording;
  outcomes.push({
    fault: `${fault}, ${way}, ${host}`,
    recorded: [outcome.status, outcome.error?.name, outcome.error?.message, outcome.error?.line],
    again: [again.status, again.error?.name, again.error?.message, again.error?.line],
    divergence: again.divergence,
    fixed: fixed.divergence ?? fixed.status ?? 'left',
  });
}
process.stdout.write(JSON.stringify(outcomes));
process.exit();

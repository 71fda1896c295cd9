// node replays.mjs <folder>: what comes of each recording, in a process that knows no database.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { replay } from '@ambit/replay/testing';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createShop } from './shop.mjs';

const [, , folder] = process.argv;
const pool = createPostgresPool({ connectionString: 'postgres://nobody@127.0.0.1:1/none', connectTimeoutMs: 100 });
const [asItWas, corrected] = [await createShop({ pool, isFixed: false }), await createShop({ pool, isFixed: true })];
const outcomes = [];
for (const name of (await readdir(folder)).toSorted()) {
  const file = join(folder, name);
  const { fault, way, host } = JSON.parse(
    (await replay({ fetch: () => new Response() }, file)).recording.request.body.text,
  );
  const [again, fixed] = [await replay(asItWas.hosts[host], file), await replay(corrected.hosts[host], file)];
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

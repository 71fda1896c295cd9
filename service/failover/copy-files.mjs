import { execFileSync } from 'node:child_process';
import { chownSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/**
 * Does what `pg_basebackup -R` does, for packages of PostgreSQL that lack it, on one machine and without load.
 * @param {string} url of the primary
 * @param {string} from its data directory
 * @param {string} to
 * @param {string} standbyName
 * @param {{ uid?: number, gid?: number }} owner
 */
export async function copyFiles(url, from, to, standbyName, owner) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SELECT pg_backup_start('copy', true)`);
    execFileSync('cp', ['-a', from, to]);
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    for (const file of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, file), { force: true });
    // The standby gets all of it from the primary.
    for (const file of readdirSync(join(to, 'pg_wal'))) rmSync(join(to, 'pg_wal', file), { recursive: true });
    const { hostname, port, username } = new URL(url);
    const connection = `host=${hostname} port=${port} user=${username} application_name=${standbyName}`;
    const files = {
      backup_label: rows[0].labelfile,
      'standby.signal': '',
      'postgresql.auto.conf': `primary_conninfo = '${connection}'\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(to, name), text, { mode: 0o600 });
      if (owner.uid !== undefined && owner.gid !== undefined) chownSync(join(to, name), owner.uid, owner.gid);
    }
  } finally {
    await client.end();
  }
}

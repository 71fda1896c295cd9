import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const VERSIONS = '/usr/lib/postgresql';

/** The newest of Debian's packages; PGBIN names another folder. */
export function postgresBinaries() {
  const chosen = process.env['PGBIN'];
  if (chosen) return chosen;
  try {
    const [newest] = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
    if (newest) return join(VERSIONS, newest, 'bin');
  } catch {
    // Reported below, with the solution.
  }
  throw new Error(
    `This program starts its own PostgreSQL, and there is no initdb under ${VERSIONS}. ` +
      'Install the package "postgresql" (Debian, Ubuntu), or set PGBIN to the folder of initdb and pg_ctl.',
  );
}

/**
 * PostgreSQL refuses to run as root, so root starts it as the user that its package created.
 * @returns {{ uid?: number, gid?: number }}
 */
export function postgresUser() {
  if (process.getuid?.() !== 0) return {};
  const id = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

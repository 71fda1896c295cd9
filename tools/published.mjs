// The changes of a release to a copy of the repository before it packs: versions, and the fields of a package about its repository, which does not know
// where it is hosted: `repository`, `homepage`, `bugs`, and a README whose links lead somewhere from the page of the package.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, posix, resolve } from 'node:path';
import { nodeBinary } from './binaries.mjs';
import { manifestOf, publicPackages } from './entry-points.mjs';

const LINK = /(\]\(|\b(?:src|srcset|href)=")(?![a-z]+:|#)([^)\s"]+)/g;

/**
 * Writes it into every public package below `root`.
 * @param {string} root
 * @param {string} repository its address on the forge
 * @param {string} commit that is published
 */
export function describePublished(root, repository, commit) {
  for (const folder of publicPackages(root)) {
    const directory = `packages/${basename(folder)}`;
    const described = {
      ...manifestOf(folder),
      homepage: `${repository}/tree/${commit}/${directory}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: 'git', url: `git+${repository}.git`, directory },
    };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(described, undefined, 2)}\n`);
    const readme = join(folder, 'README.md');
    const text = readFileSync(readme, 'utf8');
    writeFileSync(readme, withAbsoluteLinks(text, directory, `${repository}/blob/${commit}`));
  }
}

/**
 * @param {string} markdown
 * @param {string} directory of the page
 * @param {string} base of the repository's files
 */
function withAbsoluteLinks(markdown, directory, base) {
  return markdown.replaceAll(LINK, (_, before, to) => {
    const path = posix.join(directory, to);
    return `${before}${base}/${path}${/\.(png|svg)$/.test(to) ? '?raw=true' : ''}`;
  });
}

const TOOL = '.changeset/node_modules/@changesets/cli/bin.js';

/** The changes that wait for a release. @param {string} root @returns {string[]} their files */
export function pendingChanges(root) {
  return readdirSync(join(root, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

/**
 * Sets the versions as `npm run changeset -- version` does, in a copy of the repository.
 * @param {string} clone
 */
export function setVersions(clone) {
  if (!existsSync(TOOL)) execFileSync('npm', ['ci', '--silent', '--prefix', '.changeset'], { stdio: 'inherit' });
  execFileSync(nodeBinary('24'), [resolve(TOOL), 'version'], { cwd: clone, stdio: ['ignore', 'ignore', 'inherit'] });
}

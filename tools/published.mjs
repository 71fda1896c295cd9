// What a package says of its repository once it is published: `repository`, `homepage` and `bugs`, and a README whose links lead somewhere from
// the page of the package. tools/release.mjs does it in a copy before it packs; the repository itself does not know where it is hosted.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
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
export function withAbsoluteLinks(markdown, directory, base) {
  return markdown.replaceAll(LINK, (_, before, to) => {
    const path = posix.join(directory, to);
    return `${before}${base}/${path}${/\.(png|svg)$/.test(to) ? '?raw=true' : ''}`;
  });
}

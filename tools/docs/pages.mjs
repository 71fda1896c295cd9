import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commentsOf, examplesIn } from './extract.mjs';

/**
 * @typedef {object} Page
 * @property {string} path relative to the repository
 * @property {string} markdown
 * @property {import('./extract.mjs').Example[]} examples
 */

/**
 * Everything a reader may copy code from: the Markdown pages, and the documentation comments of the packages.
 * @param {string} root
 * @returns {Promise<Page[]>}
 */
export async function pagesOf(root) {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`);
  const markdown = [
    'README.md',
    'site/index.md',
    'service/README.md',
    ...packages.flatMap((folder) => [`${folder}/README.md`, ...filesIn(root, `${folder}/skills`, '.md')]),
    ...filesIn(root, 'docs', '.md'),
  ];
  const comments = await Promise.all(packages.map((folder) => commentPagesOf(root, folder)));
  return [
    ...markdown.filter((path) => existsSync(join(root, path))).map((path) => markdownPage(root, path)),
    ...comments.flat(),
  ];
}

/** @param {string} root @param {string} path @returns {Page} */
function markdownPage(root, path) {
  const markdown = readFileSync(join(root, path), 'utf8');
  return { path, markdown, examples: examplesIn(markdown) };
}

/** @param {string} root @param {string} folder @returns {Promise<Page[]>} */
async function commentPagesOf(root, folder) {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const importLine = '.' in exports ? `import { ${Object.keys(await import(name)).join(', ')} } from '${name}';` : '';
  return filesIn(root, `${folder}/src`, '.ts').map((path) => {
    const markdown = commentsOf(readFileSync(join(root, path), 'utf8'));
    return { path, markdown, examples: examplesIn(markdown).map((example) => withImport(example, name, importLine)) };
  });
}

/**
 * An example in a comment may leave out the import of its own package.
 * @param {import('./extract.mjs').Example} example
 * @param {string} name
 * @param {string} importLine
 */
function withImport(example, name, importLine) {
  return example.code.includes(`from '${name}'`) ? example : { ...example, code: importLine + example.code };
}

/** @param {string} root @param {string} folder @param {string} ending @returns {string[]} */
function filesIn(root, folder, ending) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(root, path, ending);
    return path.endsWith(ending) ? [path] : [];
  });
}

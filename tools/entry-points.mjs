// The fields for entry points besides `exports` in a manifest, for compilers that do not read it as Node does: docs/decisions.md#packages-runtimes-and-releases.
//   node tools/entry-points.mjs                 writes `main`, `types`, `typesVersions` and the conditions of each public package; then `npm run format`
//   node ../../tools/entry-points.mjs pack      in a package, once it is built: what is not in the repository, the declarations for CommonJS and the license
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** @typedef {{ types: string | { require: string, default: string }, default: string }} Conditions */
/** @typedef {Partial<Record<"dependencies" | "peerDependencies", Record<string, string>>>} Needs */
/** @typedef {{ name: string, version: string, private?: boolean, exports?: Record<string, Conditions>, publishConfig?: { access?: string }, peerDependenciesMeta?: Record<string, { optional?: boolean }> } & Needs & Record<string, unknown>} Manifest */
/** @typedef {{ path: string, specifier: string, file: string, types: string, typesOfRequire: string }} EntryPoint */

/** @param {Manifest} manifest @returns {EntryPoint[]} */
export const entryPointsOf = ({ name, exports = {} }) =>
  Object.entries(exports).map(([path, conditions]) => {
    const file = conditions.default;
    const types = file.replace(/\.js$/, '.d.ts');
    return { path, specifier: name + path.slice(1), file, types, typesOfRequire: types.replace(/\.ts$/, '.cts') };
  });

/**
 * The fields that follow from the entry points, for compilers that do not read `exports` (`main`, `types`, `typesVersions`) and for those that do.
 * @param {Manifest} manifest
 */
function fieldsOf(manifest) {
  const entries = entryPointsOf(manifest);
  const main = entries.find(({ path }) => path === '.');
  const further = entries.filter((entry) => entry !== main);
  return {
    main: main?.file,
    types: main?.types,
    typesVersions:
      further.length > 0
        ? { '*': Object.fromEntries(further.map(({ path, types }) => [path.slice(2), [types]])) }
        : undefined,
    exports: Object.fromEntries(
      entries.map(({ path, file, types, typesOfRequire }) => [
        path,
        { types: { require: typesOfRequire, default: types }, default: file },
      ]),
    ),
  };
}

/** @param {Manifest} manifest @returns {string[]} the fields that do not agree with its entry points */
export const wrongFields = (manifest) =>
  manifest.exports
    ? Object.entries(fieldsOf(manifest)).flatMap(([name, value]) =>
        JSON.stringify(manifest[name]) === JSON.stringify(value) ? [] : [name],
      )
    : [];

/** @param {string} folder @returns {Manifest} */
export const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** The folders of all packages that are published. @param {string} root */
export const publicPackages = (root) =>
  readdirSync(join(root, 'packages'))
    .map((name) => join(root, 'packages', name))
    .filter((folder) => existsSync(join(folder, 'package.json')));

/**
 * The same declarations for `require()`. TypeScript 5.7 and older, and every one with `"module": "node16"`, believe that Node cannot require an
 * ES module (TS1479); all versions of Node that we support can. The comment is what lets them pass.
 * @param {string} folder
 */
function writeDeclarationsOfRequire(folder) {
  for (const { file, typesOfRequire } of entryPointsOf(manifestOf(folder)))
    writeFileSync(
      join(folder, typesOfRequire),
      `// @ts-ignore: Node requires ES modules; compilers that do not know it refuse this line (TS1479).\nexport * from './${basename(file)}';\n`,
    );
}

if (process.argv[1] === import.meta.filename) {
  if (process.argv[2] === 'pack') {
    writeDeclarationsOfRequire(process.cwd());
    copyFileSync('../../LICENSE', 'LICENSE');
    const explained = { container: 'errors.md', doctor: 'rules.md' }[basename(process.cwd())];
    if (explained !== undefined) copyFileSync(`../../docs/${explained}`, `dist/${explained}`);
  } else
    for (const folder of publicPackages(resolve(import.meta.dirname, '..'))) {
      const manifest = manifestOf(folder);
      const text = JSON.stringify({ ...manifest, ...fieldsOf(manifest) }, undefined, 2);
      if (wrongFields(manifest).length > 0) writeFileSync(join(folder, 'package.json'), `${text}\n`);
    }
}

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { problemsInDesign } from './kubernetes-design.mjs';

const ROOT = resolve(import.meta.dirname, '../..');
/** Inside the repository, so that the compiler finds the types of Kubernetes. */
const CACHE = join(ROOT, 'node_modules/.cache');
const KUSTOMIZATION = 'kustomization.yaml';
const MODELS = 'kubernetes-models';

/** @typedef {Record<string, string>} Files texts by name */
/** @typedef {{ file: string, content: any }} Manifest */

/**
 * What is wrong with manifests: YAML, values and fields by the types of Kubernetes, and how they fit together.
 * @param {Files} files with their kustomization.yaml
 * @returns {Promise<string[]>}
 */
export async function problemsInManifests(files) {
  const { manifests, problems } = await readManifests(files);
  if (problems.length > 0) return problems;
  return [...problemsInFields(manifests), ...problemsInResources(files), ...problemsInDesign(manifests)];
}

/**
 * The manifests, and why Kubernetes would refuse them.
 * @param {Files} files
 * @returns {Promise<{ manifests: Manifest[], problems: string[] }>}
 */
export async function readManifests(files) {
  const documents = Object.entries(files)
    .filter(([file]) => file !== KUSTOMIZATION)
    .flatMap(([file, text]) => parseAllDocuments(text).map((document) => ({ file, document })));
  const problems = documents.flatMap(({ file, document }) =>
    document.errors.map((error) => `${file}: ${error.message}`),
  );
  if (problems.length > 0) return { manifests: [], problems };
  const manifests = documents.map(({ file, document }) => ({ file, content: document.toJS() }));
  return { manifests, problems: (await Promise.all(manifests.map(problemsInValues))).flat() };
}

/** @param {Manifest} manifest */
async function problemsInValues({ file, content }) {
  const { apiVersion, kind } = content;
  /** @type {Record<string, new (data: unknown) => { validate(): void }>} */
  const models = await import(`${MODELS}/${apiVersion}`).catch(() => ({}));
  const Model = models[kind];
  if (!Model) return [`${file}: Kubernetes has no ${kind} in ${apiVersion}`];
  try {
    new Model(content).validate();
    return [];
  } catch (error) {
    return [`${file}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** The compiler finds fields that Kubernetes does not know, which its servers would ignore. @param {Manifest[]} manifests */
function problemsInFields(manifests) {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'kubernetes-'));
  try {
    const names = manifests.map(({ content }, index) => {
      const { apiVersion, kind } = content;
      const type = `import('${MODELS}/${apiVersion}').I${kind}`;
      writeFileSync(
        join(folder, `${index}.ts`),
        `export const manifest: ${type} = ${JSON.stringify(content, null, 2)};\n`,
      );
      return join(folder, `${index}.ts`);
    });
    const options = '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --pretty false'.split(' ');
    const { status, stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...names], {
      encoding: 'utf8',
    });
    if (status === 0) return [];
    return stdout
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .map((line) =>
        line
          .replace(/^.*?(\d+)\.ts\(.*?\): error TS\d+/, (_, index) => String(manifests[index]?.file))
          .replaceAll('"', ''),
      );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {Files} files */
function problemsInResources({ [KUSTOMIZATION]: kustomization = '', ...others }) {
  const files = Object.keys(others);
  /** @type {string[]} */
  const resources = parse(kustomization)?.resources ?? [];
  return [
    ...files.filter((file) => !resources.includes(file)).map((file) => `${KUSTOMIZATION} does not name ${file}`),
    ...resources
      .filter((name) => !files.includes(name))
      .map((name) => `${KUSTOMIZATION} names ${name}, which is missing`),
  ];
}

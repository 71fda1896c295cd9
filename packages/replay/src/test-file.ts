import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { Recording } from './recording.js';

/** A test of a recorded request, as files below the folder of the project. */
export interface TestFile {
  /** The path of the test. */
  readonly path: string;
  /** The code of the test. */
  readonly text: string;
  /** The path where the test reads the recording. */
  readonly recording: string;
  /** Missing parts, in words. */
  readonly hint?: string;
}

const FOLDER = 'test/replays';
const APPS = ['src/app.ts', 'src/app.js', 'app.ts', 'app.js', 'dist/app.js'];

/** The module of the application, if it has one of the usual names. */
export const foundApp = (): string | undefined => APPS.find((path) => existsSync(path));

/** The test fails as the request did, until the handler is corrected. */
export async function testOf(recording: Recording, app = foundApp() ?? 'src/app.js'): Promise<TestFile> {
  const { id, request, outcome, arrivedAt } = recording;
  const {
    imports,
    load,
    assertions,
    limit = '',
    folder = FOLDER,
    ending = 'test.ts',
    hint: ofRunner,
  } = await runner(app);
  const kept = `${folder}/${id}.json`;
  const module = posix(relative(folder, app));
  const source = existsSync(app) ? await readFile(app, 'utf8') : '';
  const noApp = `${app} does not exist: make the application there in a function createApp(), or name its module by --app`;
  const hints = [source === '' && noApp, ofRunner].filter((one) => typeof one === 'string');
  const what = outcome.error?.message ?? `${outcome.milliseconds} ms`;
  const title = `${request.method} ${request.url.split('?')[0]}, ${outcome.status ?? 'no response'}: ${what}`;
  const place = outcome.error?.line === undefined ? '' : `; it failed at ${outcome.error.line}`;
  const text = `import { replay } from '@ambit/replay/testing';
${imports}
// Recorded at ${arrivedAt}${place}.
test(${JSON.stringify(title.slice(0, 150).replaceAll(/\s+/g, ' '))}, async () => {
  const app = ${load(module, exportOf(source))};
  const { failure, divergence } = await replay(app, '${kept}');
  ${assertions.join('\n  ')}
}${limit});
`;
  const path = `${folder}/${id}.${ending}`;
  return { path, text, recording: kept, ...(hints.length > 0 && { hint: hints.join('\n') }) };
}

/** The names of functions that make an application, such as `createApp`. */
export const MAKES_APP = /^(?:create|make|build)\w*(?:app|server)/i;

/** The application in code, as its module exports it. */
function exportOf(source: string): string {
  const names = Array.from(
    source.matchAll(/^export (?:async )?(?:const|let|function) (\w+)/gm),
    ([, name = '']) => name,
  );
  const maker = names.find((name) => MAKES_APP.test(name));
  if (names.includes('app')) return 'app';
  return maker === undefined ? (/^export default /m.test(source) ? 'default' : 'app') : `${maker}()`;
}

interface Runner {
  readonly imports: string;
  /** A function that gives the application, in code. */
  readonly load: (module: string, exported: string) => string;
  readonly assertions: readonly string[];
  /** The time that the test may take, in which the runner also compiles the application. */
  readonly limit?: string;
  readonly folder?: string;
  readonly ending?: string;
  readonly hint?: string;
}

const EXPECTING = {
  assertions: ['expect(divergence).toBeUndefined();', 'expect(failure).toBeUndefined();'],
  limit: ', 30_000',
};
const imported = (module: string, exported: string): string => `async () => (await import('${module}')).${exported}`;

/** The test runner that package.json names. */
async function runner(app: string): Promise<Runner> {
  const manifest = existsSync('package.json') ? await readFile('package.json', 'utf8') : '';
  if (manifest.includes('"vitest"'))
    return {
      imports: "import { expect, test } from 'vitest';\n",
      load: (module, exported) => imported(module.replace(/\.ts$/, '.js'), exported),
      ...EXPECTING,
    };
  if (manifest.includes('"jest"')) {
    // Jest finds `app.ts` by `app` alone, and has no import() in a CommonJS project.
    const isModule = /"type"\s*:\s*"module"/.test(manifest);
    const required = (module: string, exported: string): string => `() => jest.requireActual('${module}').${exported}`;
    const load: Runner['load'] = (module, exported) =>
      (isModule ? imported : required)(module.replace(/\.[jt]s$/, ''), exported);
    return { imports: '', load, ...EXPECTING, ...placeIn(manifest) };
  }
  return {
    imports: "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n",
    load: imported,
    assertions: ['assert.equal(divergence, undefined);', 'assert.equal(failure, undefined);'],
    // Without a compiler, older versions of Node run no TypeScript.
    ending: app.endsWith('.ts') ? 'test.ts' : 'test.mjs',
  };
}

interface JestOptions {
  readonly rootDir?: string;
  readonly roots?: readonly string[];
  readonly testRegex?: string | readonly string[];
  readonly testMatch?: readonly string[];
}

/** A path where Jest looks for tests, by its entry in package.json: NestJS's starter has `rootDir: src` and `*.spec.ts`. */
function placeIn(manifest: string): Pick<Runner, 'folder' | 'ending' | 'hint'> {
  const { jest } = JSON.parse(manifest) as { readonly jest?: JestOptions };
  if (!jest) return { hint: 'If Jest does not find the test, move it to where its configuration looks for tests' };
  const { rootDir = '.', roots = ['<rootDir>'], testRegex, testMatch = ['*.test.ts'] } = jest;
  const [root = '.', ...others] = roots.map((one) => posix(join(one.replace('<rootDir>', rootDir))));
  const isAnywhere = [root, ...others].some((one) => one === '.' || one === 'test');
  const names = testRegex === undefined ? testMatch : [testRegex].flat();
  const isTest = names.some((name) => name.slice(name.lastIndexOf('/') + 1).includes('test'));
  return { folder: isAnywhere ? FOLDER : `${root}/replays`, ending: isTest ? 'test.ts' : 'spec.ts' };
}

const posix = (path: string): string => path.split(sep).join('/');

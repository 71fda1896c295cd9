import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Recording } from './recording.js';
import type { ReplayableApplication } from './replay/application.js';
import { replay, type Replayed } from './replay/replay.js';

const USAGE = `Usage: ambit replay FILE [--write] [--app ./src/app.js]
       ambit replay --all FOLDER --app ./dist/app.js

Sends a recorded request to the application again, with the recorded rows in place of a database.
  ambit replay recordings/POST-orders-7f3a1c.json --app ./dist/app.js   what comes of it
  ambit replay recordings/POST-orders-7f3a1c.json --write               writes test/replays/7f3a1c.test.ts
  ambit replay --all recordings --app ./dist/app.js                     how many responses are equal
The module of --app exports the application as app, or by default. It exits with 0 where everything is as recorded, with 1 where something
differs, and with 2 if it was called wrongly.`;

/** Where a command writes to. */
export interface Terminal {
  /** Writes a line of the result. */
  readonly print: (text: string) => void;
  /** Writes why there is none. */
  readonly complain: (text: string) => void;
}

const DIFFERS = 1;
const MISUSED = 2;
const MOST_SHOWN = 20;
const APPS = ['src/app.ts', 'src/app.js', 'app.ts', 'app.js', 'dist/app.js'];

/**
 * Runs the command `ambit replay`.
 *
 * @param args - what stands behind `replay` on the command line
 * @param terminal - where it writes to
 * @returns its exit code
 *
 * @example
 * ```ts
 * import { replayCommand } from '@ambit/replay/command';
 *
 * const terminal = { print: console.log, complain: console.error };
 * process.exitCode = await replayCommand(['--all', 'recordings', '--app', './dist/app.js'], terminal);
 * ```
 */
export async function replayCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const { print, complain } = terminal;
  const asked = read(args);
  if (!asked || (asked.app === undefined && !asked.write)) {
    complain(asked && asked.positionals.length > 0 ? `--app says where the application is\n${USAGE}` : USAGE);
    return MISUSED;
  }
  const { write, all, app, positionals } = asked;
  try {
    const files = all === undefined ? positionals : await recordingsIn(all);
    if (write) {
      for (const file of files) print(`Written: ${await writeTest(file, app)}`);
      return 0;
    }
    const differing: string[] = [];
    for (const file of files) {
      const replayed = await replay(() => application(resolve(app ?? '')), file);
      const difference = replayed.divergence ?? replayed.difference;
      if (all === undefined) print(described(replayed, difference));
      if (difference !== undefined) differing.push(`${file}: ${difference}`);
    }
    const equal = (files.length - differing.length).toLocaleString('en');
    if (all !== undefined)
      print([`${equal} responses equal, ${differing.length} differ`, ...differing.slice(0, MOST_SHOWN)].join('\n'));
    return differing.length > 0 ? DIFFERS : 0;
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
    return MISUSED;
  }
}

function read(args: readonly string[]) {
  try {
    const options = { write: { type: 'boolean' }, all: { type: 'string' }, app: { type: 'string' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    const { write = false, all, app = APPS.find((path) => existsSync(path)) } = values;
    return (all === undefined) === (positionals.length === 1) ? { write, all, app, positionals } : undefined;
  } catch {
    return undefined;
  }
}

async function recordingsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(folder, name));
}

async function application(path: string): Promise<never> {
  const { app, default: byDefault } = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  const found = (app ?? byDefault) as ReplayableApplication | undefined;
  if (!found) throw new Error(`${path} exports no app`);
  return found as never;
}

function described({ status, error, recording, beyond }: Replayed, difference: string | undefined): string {
  const { request, leftOut, replaced } = recording;
  const failure = error && `${error.name}: ${error.message}${error.line === undefined ? '' : `\n  at ${error.line}`}`;
  return [
    `${request.method} ${request.url}: ${status ?? 'the client leaves'}`,
    failure,
    difference ?? 'As recorded.',
    beyond.length > 0 && `Not in the recording: ${beyond.join(', ')}`,
    leftOut.length > 0 && `Left out of the recording: ${leftOut.join('; ')}`,
    replaced.length > 0 && `Replaced in the recording: ${replaced.join(', ')}`,
  ]
    .filter((line) => typeof line === 'string')
    .join('\n');
}

/** The test fails as the request did, until the handler is corrected. */
async function writeTest(file: string, app = 'src/app.js'): Promise<string> {
  const recording = JSON.parse(await readFile(file, 'utf8')) as Recording;
  const { id, request, outcome, arrivedAt } = recording;
  const folder = join('test', 'replays');
  await mkdir(folder, { recursive: true });
  const [path, kept] = [join(folder, `${id}.test.ts`), join(folder, `${id}.json`)];
  await copyFile(file, kept);
  const posix = (one: string): string => one.split(sep).join('/');
  const module = posix(relative(dirname(path), app)).replace(/\.ts$/, '.js');
  const { url } = request;
  const what = outcome.error?.message ?? `${outcome.milliseconds} ms`;
  const title = `${request.method} ${url.split('?')[0]}, ${outcome.status ?? 'no response'}: ${what}`.slice(0, 150);
  const [imports, isDefined, isFixed] = await assertions();
  const text = `import { replay } from '@ambit/replay/testing';
${imports}
// Recorded at ${arrivedAt}${outcome.error?.line === undefined ? '' : `; it failed at ${outcome.error.line}`}.
test(${JSON.stringify(title.replaceAll(/\s+/g, ' '))}, async () => {
  const app = async () => (await import('${module}')).app;
  const { status, divergence } = await replay(app, '${posix(kept)}');
  ${isDefined}
  ${isFixed}
});
`;
  await writeFile(path, text);
  return path;
}

/** Of the runner that the project uses. */
async function assertions(): Promise<readonly [imports: string, isDefined: string, isFixed: string]> {
  const manifest = existsSync('package.json') ? await readFile('package.json', 'utf8') : '';
  const expected = ['expect(divergence).toBeUndefined();', 'expect(status).toBeLessThan(500);'] as const;
  if (manifest.includes('"vitest"')) return ["import { expect, test } from 'vitest';\n", ...expected];
  if (manifest.includes('"jest"')) return ['', ...expected];
  const imports = "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n";
  return [imports, 'assert.equal(divergence, undefined);', 'assert.ok(status !== undefined && status < 500);'];
}

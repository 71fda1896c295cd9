import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Recording } from './recording.js';
import { made, type ReplayableApplication } from './replay/application.js';
import { takePools } from './replay/database.js';
import { replay, type Replayed, type ReplayOptions } from './replay/replay.js';
import { foundApp, MAKES_APP, testOf } from './test-file.js';

const USAGE = `Usage: ambit replay FILE [--write] [--app ./src/app.js]
       ambit replay --all FOLDER --app ./dist/app.js [--options ./test/replay-options.js]

Sends a recorded request to the application again, with the recorded rows in place of a database.
  ambit replay recordings/POST-orders-7f3a1c.json --app ./dist/app.js   what comes of it
  ambit replay recordings/POST-orders-7f3a1c.json --write               writes test/replays/7f3a1c.test.ts
  ambit replay --all recordings --app ./dist/app.js                     how many responses are equal
The module of --app exports the application as app, by default, or a function createApp(); that of --options the options of replay(). It exits with 0 where everything is as recorded, with 1 where something
differs, and with 2 if it was called wrongly.`;

/** The output of a command: results, and the reason where there are none. */
interface Terminal {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

const DIFFERS = 1;
const MISUSED = 2;
const MOST_SHOWN = 20;

/** Runs `ambit replay` with the arguments behind it. Resolves to its exit code. */
export async function command(args: readonly string[], { print, complain }: Terminal): Promise<number> {
  const asked = read(args);
  if (!asked || (asked.app === undefined && !asked.write)) {
    complain(asked && asked.positionals.length > 0 ? `--app says where the application is\n${USAGE}` : USAGE);
    return MISUSED;
  }
  const { all, app, positionals } = asked;
  try {
    const files = all === undefined ? positionals : await recordingsIn(all);
    if (asked.write) {
      for (const file of files) print(await writeTest(file, app));
      return 0;
    }
    const options = asked.options === undefined ? {} : ((await imported(asked.options)) as ReplayOptions);
    // The application finds no database for what it starts while it is loaded, either.
    takePools();
    const loaded = await application(app ?? '');
    const differing: string[] = [];
    for (const file of files) {
      const replayed = await replay(loaded, file, options);
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
    const text = { type: 'string' } as const;
    const known = { write: { type: 'boolean' }, all: text, app: text, options: text } as const;
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: known });
    const { write = false, all, app = foundApp(), options } = values;
    const isWhole = (all === undefined) === (positionals.length === 1);
    return isWhole ? { write, all, app, options, positionals } : undefined;
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

const imported = async (path: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;

async function application(path: string): ReturnType<typeof made> {
  const module = await imported(path);
  const maker = Object.keys(module).find((name) => MAKES_APP.test(name)) ?? 'default';
  const found = (await (module['app'] ?? module[maker])) as ReplayableApplication | undefined;
  if (!found) throw new Error(`${path} exports neither app nor a function createApp()`);
  return made(found);
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

async function writeTest(file: string, app: string | undefined): Promise<string> {
  const { path, text, recording, hint } = await testOf(JSON.parse(await readFile(file, 'utf8')) as Recording, app);
  await mkdir(dirname(path), { recursive: true });
  await copyFile(file, recording);
  await writeFile(path, text);
  return [`Written: ${path}`, hint].filter(Boolean).join('\n');
}

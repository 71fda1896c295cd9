#!/usr/bin/env node
import { inspect } from './command.js';

// The reader of the output may want no more of it, as `head` does.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));
const [command, ...args] = process.argv.slice(2);
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);
type Command = { replayCommand(rest: readonly string[], to: object): Promise<number> };
if (command === 'replay') {
  const name = '@ambit/replay/command';
  const replay = (await import(name).catch(() => undefined)) as Command | undefined;
  if (!replay) complain('ambit replay is a command of @ambit/replay: npm install --save-dev @ambit/replay');
  process.exitCode = replay ? await replay.replayCommand(args, { print, complain }) : 1;
} else {
  const token = process.env['INSPECTOR_TOKEN'];
  process.exitCode = await inspect(process.argv.slice(2), { token, print, complain });
}

#!/usr/bin/env node
import { inspect } from './command.js';

// Who reads the output may want no more of it, as `head` does.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));
process.exitCode = await inspect(process.argv.slice(2), {
  token: process.env['INSPECTOR_TOKEN'],
  print: (text) => void process.stdout.write(`${text}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
});

#!/usr/bin/env node
import { command } from './command.js';

process.exitCode = command(process.argv.slice(2), {
  print: (text) => void process.stdout.write(`${text}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
});

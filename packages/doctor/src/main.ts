#!/usr/bin/env node
import { run } from './run.js';

process.exitCode = run(
  process.argv.slice(2),
  (text) => void process.stdout.write(`${text}\n`),
  (text) => void process.stderr.write(`${text}\n`),
);

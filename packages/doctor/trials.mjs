// Reads copies of public programs and prints one row of the tables in README.md for each: files, seconds of the processor, and what is reported.
//   node packages/doctor/trials.mjs <folder>...
import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { run } from './dist/run.js';

const [folder = '.', ...more] = process.argv.slice(2);
if (more.length > 0) {
  // A process for each, so that none pays for what another one has left in memory.
  for (const each of [folder, ...more]) spawnSync(process.execPath, [import.meta.filename, each], { stdio: 'inherit' });
} else {
  process.chdir(folder);
  const printed = [''];
  run(
    ['.', '--json'],
    (text) => void printed.push(text),
    (text) => void process.stderr.write(text),
  );
  const { user, system } = process.cpuUsage();
  /** @type {{ files: number, reports: { rule: string }[] }} */
  const { files, reports } = JSON.parse(printed.join(''));
  /** @type {Record<string, number>} */
  const counts = {};
  for (const { rule } of reports) counts[rule] = (counts[rule] ?? 0) + 1;
  const listed = Object.entries(counts).map(([rule, count]) => `${count} ${rule}`);
  const seconds = ((user + system) / 1_000_000).toFixed(1);
  process.stdout.write(`| ${basename(folder)} | ${files} | ${seconds} | ${reports.length} | ${listed.join(', ')} |\n`);
}

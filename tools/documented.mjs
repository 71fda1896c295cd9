// Every program that a document names is run: by the step of another name in check.mjs, or here, as short as it can be.
//   npm run check -- documented           all of them
//   node tools/documented.mjs bench     those whose path begins so
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PROGRAMS } from '../lab/programs.mjs';

const ONE_TURN = '--processes 1 --rounds 1';

/** @type {Record<string, string>} */
const SHORT = {
  'bench/scope/run.mjs': '--only hand,ambit --work hit --rounds 1',
  'bench/size.mjs': '',
  'bench/cold.mjs': '--rounds 1',
  'bench/types/run.mjs': '--sizes 20 --rounds 1',
  'bench/http/run.mjs': `${ONE_TURN} --requests 200 --only bare,ambit --host fastify`,
  'bench/service/run.mjs': `${ONE_TURN} --seconds 0.2 --database sqlite --work user --only ambit,hand`,
  'bench/prepared.mjs': '3',
  'bench/replay.mjs': '--rounds 1 --requests 60 --host Fastify',
  'bench/inspector/run.mjs': `${ONE_TURN} --requests 20 --work user`,
  'bench/storm/run.mjs': '--seconds 1 --sockets 8 --only node-ambit',
};

/** @type {Record<string, string>} Programs that no step runs, and why. */
const NOT_IN_CI = {
  'packages/doctor/trials.mjs': 'it reads repositories of others',
  'tools/check.mjs': 'it runs this program',
  'tools/entry-points.mjs': 'a maintainer runs it once for a new package',
};

const steps = readFileSync('tools/check.mjs', 'utf8');
const documents = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n');
const NAMED = /\bnode (?:--[\w=-]+ )*(?:tools\/on-node\.mjs [\d.]+ )?((?:[\w.@-]+\/)+[\w.-]+\.mjs)/g;

const problems = new Set();
const named = new Set();
for (const document of documents.filter((path) => !/^docs\/decisions\.md|\/template\//.test(path))) {
  const text = readFileSync(document, 'utf8');
  for (const [, name = ''] of text.matchAll(/\bnpm run lab -- (\w[\w-]*)/g))
    if (!(name in PROGRAMS)) problems.add(`${document} names ${name}, which the laboratory does not have`);
  for (const [, program = ''] of text.matchAll(NAMED)) {
    named.add(program);
    if (!(program in SHORT) && !(program in NOT_IN_CI) && !steps.includes(program) && !program.includes('node_modules'))
      problems.add(`${document} names ${program}, which no step of check.mjs runs: add it to tools/documented.mjs`);
  }
}
for (const program of [...Object.keys(SHORT), ...Object.keys(NOT_IN_CI)])
  if (!named.has(program)) problems.add(`No document names ${program}: take it out of tools/documented.mjs`);

for (const [program, options] of Object.entries(SHORT)) {
  if (!program.startsWith(process.argv[2] ?? '')) continue;
  const start = performance.now();
  const words = [program, ...options.split(' ').filter(Boolean)];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    encoding: 'utf8',
    timeout: 600_000,
  });
  console.log(`${program} ${options}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  if (status !== 0) problems.add(`node ${program} ${options} fails:\n${stdout}${stderr}`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.size > 0 ? 1 : 0;

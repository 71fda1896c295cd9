// @ts-check
// Events of an outbox in brokers, while relays, brokers and lines fail: every committed event arrives, in the order of its key. Then the
// settings of the brokers: with those of the guide nothing that was acknowledged is lost, with others something is.
//
//   npm run lab -- relays                            each broker, 60 s on each database, and all settings
//   npm run lab -- relays --short --only RabbitMQ    as the tests run it
//   npm run lab -- relays --settings                 only the settings
//   npm run lab -- relays --seconds 300              longer
//
// A power failure is tried on a file system of its own, which needs root; it is left out otherwise, and in a short run.
import { parseArgs } from 'node:util';
import { canCutPower } from '../../lab/kit/disk.mjs';
import { ensureInstalled } from '../../lab/kit/program.mjs';
import { report, say, table, tableOfCounts } from '../../lab/kit/report.mjs';
import { play } from './relays/round.mjs';
import { TARGETS } from './relays/targets.mjs';

/**
 * @typedef {import('./relays/harms.mjs').Harm} Harm
 * @typedef {import('./relays/targets.mjs').Failure} Failure
 * @typedef {import('./relays/targets.mjs').Target} Target
 * @typedef {import('./relays/targets.mjs').Variant} Variant
 */

const MOST_ROUNDS = 5;
const TRY = /** @type {const} */ ({ database: 'postgres', seconds: 4 });
const KINDS = ['lost', 'out of order', 'never committed', 'dead', 'left behind', 'process'];
/** @type {Record<Failure, string>} */
const FAILURES = {
  'broker killed': '`kill -9`',
  'power failed': 'power failure',
  'broker full': 'no room',
  'no queue bound': 'no queue, or trimmed',
};
/** @type {readonly Harm[]} */
const HARMS = [
  'relay killed',
  'relay stopped past its claim',
  'relay shut down',
  'broker killed',
  'broker paused',
  'lines cut',
];

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    database: { type: 'string', default: '' },
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    settings: { type: 'boolean', default: false },
  },
});
const seconds = Number(options.seconds ?? (options.short ? 5 : 60));
const databases = /** @type {const} */ (['postgres', 'sqlite', 'mariadb']).filter((name) =>
  name.includes(options.database),
);
const targets = Object.entries(TARGETS).filter(([name]) => name.includes(options.only));
const cutsPower = !options.short && ensureInstalled('xfs_io', ['xfsprogs']) && canCutPower();
/** @type {string[]} */
const wrong = [];
/** @type {{ title: string, counts: Record<string, number> }[]} */
const columns = [];
for (const [name, target] of options.settings ? [] : targets)
  for (const database of databases) columns.push(await harmed(name, target, database));
if (columns.length > 0) say(`\n${tableOfCounts(columns)}`);

/** @type {string[][]} */
const rows = [];
for (const [name, { variants }] of targets)
  for (const variant of variants) if (!options.short || variant.short) rows.push(await tried(name, variant));
report(table(['', ...Object.values(FAILURES)], rows), wrong);

/**
 * @param {string} target
 * @param {Target} settings
 * @param {import('@ambit/outbox').OutboxDialect} database
 */
async function harmed(target, { variants: [{ settings, under }] }, database) {
  const title = `${target}, ${database}`;
  const harms = [...HARMS];
  if (under['broker full']) harms.push('broker full');
  if (cutsPower) harms.push('power failed');
  // A broker that starts on a busy machine takes its time: they last for 30 s.
  const maxAttempts = 120;
  const { counts, findings } = await play({ target, settings, database, seconds, harms, poison: true, maxAttempts });
  wrong.push(...findings.reported.map((line) => `${title}: ${line}`));
  const all = { ...counts, ...Object.fromEntries(KINDS.map((kind) => [`**${kind}**`, findings.count(kind)])) };
  say(`${title}: ${JSON.stringify(all)}`);
  return { title, counts: all };
}

/**
 * @param {string} target
 * @param {Variant} variant
 */
async function tried(target, { title, settings, under }) {
  const cells = [];
  for (const failure of /** @type {Failure[]} */ (Object.keys(FAILURES))) {
    const expected = under[failure];
    /** @type {string[]} */
    let reported = [];
    const isPossible = failure !== 'power failed' || cutsPower;
    if (!expected || !isPossible) {
      cells.push('');
      continue;
    }
    let [lost, committed] = [0, 0];
    // What is lost depends on the moment, so it may take several.
    for (let round = 0; round < (expected === 'loses' ? MOST_ROUNDS : 1) && lost === 0; round += 1) {
      const { counts, findings } = await play({ target, settings, ...tryOf(failure) });
      lost += findings.count('lost');
      committed += counts['events committed'] ?? 0;
      reported = findings.reported;
    }
    say(`${target}, ${title}, ${failure}: ${lost} of ${committed} lost`);
    if (lost > 0 && expected === 'keeps') wrong.push(`${target}, ${title}, ${failure}: ${reported.join(', ')}`);
    if (lost === 0 && expected === 'loses') wrong.push(`${target}, ${title}, ${failure}: nothing was lost`);
    cells.push(`${lost} of ${committed}`);
  }
  return [`${target}: ${title}`, ...cells];
}

/** @param {Failure} failure */
function tryOf(failure) {
  // Nothing is done to the broker: it says of an event that no queue takes whether it has it.
  if (failure === 'no queue bound') return { ...TRY, harms: [], poison: true, maxAttempts: 5 };
  return { ...TRY, harms: [failure], poison: false, maxAttempts: 200 };
}

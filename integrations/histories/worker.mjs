// @ts-check
// One of the two processes: it runs its share of the transactions, and sends back what it has recorded of each.
import { isTemporary } from '@ambit/transaction';
import { UnknownOutcome } from './controls.mjs';
import { planOf } from './plans.mjs';
import { SUBJECTS } from './subjects.mjs';

/**
 * @typedef {import('@ambit/host-contract').RecordedTransaction} RecordedTransaction
 * @typedef {import('@ambit/host-contract').Operation} Operation
 * @typedef {import('./plans.mjs').Plan} Plan
 * @typedef {import('./plans.mjs').Step} Step
 * @typedef {import('./subjects.mjs').Session} Session
 */

/**
 * @typedef {object} Task
 * @property {string} subject
 * @property {string} address
 * @property {import('./subjects.mjs').IsolationLevel} isolation
 * @property {string | undefined} mutant
 * @property {number} seed
 * @property {number} transactions of both processes
 * @property {number} process 0 or 1
 */

/** @typedef {{ history: RecordedTransaction[], errors: string[] }} Recorded `errors`: what neither the plan nor a conflict nor a busy machine explains */

/** How many transactions of a process run side by side. */
const SIDE_BY_SIDE = 6;

/** What the code of the application throws. */
class Planned extends Error {}

/** The clock of the machine: one for both processes. */
const now = () => Number(process.hrtime.bigint());

let element = 0;

/** @param {Task} task @returns {Promise<Recorded>} */
async function play(task) {
  const subject = await SUBJECTS.find(({ name }) => name === task.subject)?.open(task.address, task.mutant);
  if (!subject) throw new Error(`There is no ${task.subject}`);
  const { seed, transactions, isolation } = task;
  let index = task.process;
  /** @type {Recorded} */
  const recorded = { history: [], errors: [] };
  const runner = async () => {
    while (index < transactions) {
      const plan = planOf(seed, index);
      const name = `${'ab'[task.process]}${index}`;
      index += 2;
      /** @param {(session: Session) => Promise<void>} work */
      const run = (work) => subject.transact({ isolation, readOnly: plan.readOnly }, work);
      await record(plan, { name, run, recorded, process: task.process });
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, runner));
  await subject.close();
  return recorded;
}

/**
 * @param {Plan} plan
 * @param {{ name: string, process: number, recorded: Recorded, run: (work: (session: Session) => Promise<void>) => Promise<void> }} options
 */
async function record(plan, { name, process, recorded, run }) {
  /** @type {(RecordedTransaction & { outcome: string, finished: number, operations: Operation[] })[]} */
  const attempts = [];
  // Each attempt began after the one before it had failed.
  let began = now();
  try {
    await run(async (session) => {
      /** @type {Operation[]} */
      const operations = [];
      const number = attempts.length === 0 ? '' : `.${attempts.length + 1}`;
      // What is tried again was rolled back: it says so by trying again.
      attempts.push({ name: name + number, outcome: 'rolled back', began, finished: Infinity, operations });
      try {
        await take(plan.steps, session, { operations, process });
        if (plan.fails) throw new Planned(name);
      } finally {
        began = now();
      }
    });
    Object.assign(/** @type {object} */ (attempts.at(-1)), { outcome: 'committed', finished: now() });
  } catch (error) {
    const { code } = /** @type {{ code?: string }} */ (error);
    const isUnknown = code === 'AMBIT_TX_OUTCOME_UNKNOWN' || error instanceof UnknownOutcome;
    if (isUnknown) Object.assign(/** @type {object} */ (attempts.at(-1)), { outcome: 'unknown' });
    if (!(error instanceof Planned) && !isTemporary(error)) recorded.errors.push(`${name}: ${described(error)}`);
  }
  recorded.history.push(...attempts);
}

/**
 * @param {readonly Step[]} steps
 * @param {Session} session
 * @param {{ operations: Operation[], process: number }} options
 */
async function take(steps, session, { operations, process }) {
  for (const step of steps) {
    if (step.kind === 'read') {
      const items = await session.read(step.key);
      operations.push({ kind: 'read', key: String(step.key), elements: items.split(',').filter(Boolean).map(Number) });
    } else if (step.kind === 'append') {
      element += 1;
      const own = 2 * element + process;
      operations.push({ kind: 'append', key: String(step.key), element: own });
      await session.append(step.key, `${own},`);
    } else await takeNested(step, session, { operations, process });
  }
}

/**
 * @param {Extract<Step, { kind: 'nested' }>} step
 * @param {Session} session
 * @param {{ operations: Operation[], process: number }} options
 */
async function takeNested({ steps, fails }, session, { operations, process }) {
  /** @type {Operation[]} */
  const inside = [];
  const nested = { kind: /** @type {const} */ ('nested'), undone: fails, operations: inside };
  operations.push(nested);
  let isPlanned = false;
  try {
    await session.nested(async (inner) => {
      await take(steps, inner, { operations: inside, process });
      if (!fails) return;
      isPlanned = true;
      throw new Planned('nested');
    });
  } catch (error) {
    if (!isPlanned) throw error;
  }
}

/** @param {unknown} error @returns {string} */
function described(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} <- ${described(error.cause)}`;
}

process.on('message', (/** @type {Task} */ task) => {
  play(task).then(
    (recorded) => process.send?.(recorded),
    (/** @type {unknown} */ error) => process.send?.({ history: [], errors: [described(error)] }),
  );
});
process.send?.('started');

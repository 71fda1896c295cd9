// @ts-check
// One of the processes: it runs its share of the transactions, and writes down what it knows of each.
import { closeSync, openSync, writeSync } from 'node:fs';
import { isTemporary } from '@ambit/transaction';
import { planOf, rowKey, rowKeysOf } from './plans.mjs';
import { SUBJECTS } from './subjects.mjs';

/**
 * @typedef {import('@ambit/test-kit').RecordedTransaction} RecordedTransaction
 * @typedef {import('@ambit/test-kit').Operation} Operation
 * @typedef {import('./plans.mjs').Plan} Plan
 * @typedef {import('./plans.mjs').Step} Step
 * @typedef {import('./subjects.mjs').Session} Session
 */

/**
 * @typedef {object} Task
 * @property {string} subject
 * @property {string} address
 * @property {import('./subjects.mjs').IsolationLevel} isolation
 * @property {number} seed
 * @property {number} transactions of all processes
 * @property {number} process 0 or 1
 * @property {number} processes
 * @property {string} journal the file that it writes down each attempt in, as far as it knows it; the last line of an attempt is the newest
 */

/** @typedef {{ errors: string[] }} Finished what neither the plan nor a conflict nor a busy machine explains */
/** @typedef {(attempt: RecordedTransaction) => void} WriteDown */

/** How many transactions of a process run side by side. */
const SIDE_BY_SIDE = 6;

/** What the code of the application throws. */
class Planned extends Error {}

/** The clock of the machine: one for both processes. */
const now = () => Number(process.hrtime.bigint());

let written = 0;

/** No other process has it. @param {number} process */
function nextElement(process) {
  written += 1;
  return 2 * written + process;
}

/** @param {Task} task @returns {Promise<Finished>} */
async function play(task) {
  const subject = await SUBJECTS.find(({ name }) => name === task.subject)?.open(task.address);
  if (!subject) throw new Error(`There is no ${task.subject}`);
  const { seed, transactions, isolation } = task;
  let index = task.process;
  /** @type {string[]} */
  const errors = [];
  // What was written stays when the process is killed.
  const journal = openSync(task.journal, 'w');
  /** @type {WriteDown} */
  const writeDown = (attempt) => void writeSync(journal, `${JSON.stringify(attempt)}\n`);
  const runner = async () => {
    while (index < transactions) {
      const plan = planOf(seed, index);
      const name = `${'ab'[task.process]}${index}`;
      index += task.processes;
      /** @param {(session: Session) => Promise<void>} work */
      const run = (work) => subject.transact({ isolation, readOnly: plan.readOnly }, work);
      await record(plan, { name, run, errors, writeDown, process: task.process });
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, runner));
  await subject.close();
  closeSync(journal);
  return { errors };
}

/**
 * @param {Plan} plan
 * @param {{ name: string, process: number, errors: string[], writeDown: WriteDown, run: (work: (session: Session) => Promise<void>) => Promise<void> }} options
 */
async function record(plan, { name, process, errors, writeDown, run }) {
  /** @type {RecordedTransaction[]} */
  const attempts = [];
  /** @param {Partial<RecordedTransaction>} known of the last attempt */
  const note = (known) => {
    const last = attempts.at(-1);
    if (last) writeDown({ ...last, ...known });
  };
  // Each attempt began after the one before it had failed.
  let began = now();
  try {
    await run(async (session) => {
      /** @type {Operation[]} */
      const operations = [];
      // What is tried again was rolled back: it says so by trying again.
      note({});
      const number = attempts.length === 0 ? '' : `.${attempts.length + 1}`;
      attempts.push({ name: name + number, outcome: 'rolled back', began, finished: Infinity, operations });
      try {
        await take(plan.steps, session, { operations, process });
        if (plan.fails) throw new Planned(name);
        // From here on it may be committed, and a process that is killed learns no more of it.
        note({ outcome: 'unknown' });
      } finally {
        began = now();
      }
    });
    note({ outcome: 'committed', finished: now() });
  } catch (error) {
    const { code } = /** @type {{ code?: string }} */ (error);
    const isUnknown = code === 'AMBIT_TX_OUTCOME_UNKNOWN';
    note(isUnknown ? { outcome: 'unknown' } : {});
    if (!(error instanceof Planned) && !isTemporary(error)) errors.push(`${name}: ${described(error)}`);
  }
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
    } else if (step.kind === 'select') {
      const elements = await session.select(step.first, step.last);
      operations.push({ kind: 'select', keys: rowKeysOf(step), elements });
    } else if (step.kind === 'append') {
      const own = nextElement(process);
      operations.push({ kind: 'append', key: String(step.key), element: own });
      await session.append(step.key, `${own},`);
    } else if (step.kind === 'insert') {
      const own = nextElement(process);
      operations.push({ kind: 'insert', key: rowKey(step.key), element: own });
      await session.insert(step.key, own);
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
    (finished) => process.send?.(finished),
    (/** @type {unknown} */ error) => process.send?.({ errors: [described(error)] }),
  );
});
process.send?.('started');

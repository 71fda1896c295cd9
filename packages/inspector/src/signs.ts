import { lockedBy } from './holders.js';
import { ms } from './names.js';
import type { RequestDetails, Step, TroubleKind } from './wire.js';

/** One occurrence of a trouble. Those with the same kind, place, statement and error have one cause. */
export interface Sign {
  readonly kind: TroubleKind;
  /** One sentence: what happened, and why, without values of the application. */
  readonly cause: string;
  /** The line of code to look at. */
  readonly where?: string | undefined;
  readonly sql?: string | undefined;
  readonly error?: string | undefined;
  /** What tells it from others of its kind, where place, statement and error do not. */
  readonly about?: string;
  /** What to do about it, where it is known better than of its kind. */
  readonly fix?: string | undefined;
  /** Without a line: the service whose definition is the line. */
  readonly service?: string | undefined;
}

/** What to do about each kind. */
const FIX: Readonly<Record<TroubleKind, string>> = {
  'failed handler': 'Correct the line, or throw an error with a status below 500 where the request is at fault.',
  'failed service':
    'The service at the end of the path threw, or is not registered: correct its constructor or its registration.',
  'failed statement': 'Read the SQLSTATE: the statement, its values or the schema is wrong.',
  'failed commit':
    'The database refused COMMIT and stored nothing: a deferred constraint, or a conflict. Retry conflicts with runInTransaction().',
  'unknown outcome':
    'The connection was lost during COMMIT. An idempotency key lets the client send the request again.',
  deadlock: 'Lock rows in one order everywhere, such as that of their keys; runInTransaction() retries what remains.',
  lock: 'Keep the transaction that holds the lock short: no calls to other services in it.',
  pool: 'Keep connections for a shorter time, where the line says; a larger pool helps only where the database has cores to spare.',
  'N+1': 'Read all rows with one statement: a join, or `= ANY ($1)`.',
  leak: 'Dispose the scope in `finally`, or open it with inScope().',
  'idle transaction': 'It kept its connection and its locks meanwhile: do the other work before BEGIN or after COMMIT.',
  'after commit':
    'The connection was used after the transaction had finished: await the statement before the handler responds.',
  slow: 'The line says where most of the time went.',
  'slow call': 'Give the call a time limit, or do it after the response, with an outbox.',
  aborted: 'The client has disconnected. If it did not do so by itself, the request takes longer than its time limit.',
  finding: 'The guide of the transaction check has a section on it.',
  graph: 'The message says which registration to change.',
  outbox: 'Events wait until the receiver takes them: correct the receiver, or what it is sent.',
  'blocked loop': 'No other request was served meanwhile: divide the work, or move it to a worker.',
};

/** What to do about it. */
export function fixOf({ kind, fix }: Pick<Sign, 'fix' | 'kind'>): string {
  return fix ?? FIX[kind];
}

/** One statement as often as this, in one request, is an N+1. */
export const MOST_ALIKE = 5;
/** A statement, a call or a wait of this long is looked at. */
export const LONG_WAIT_MS = 100;
const IDLE_MS = 1000;
const LONG_CALL_MS = 1000;
/** The codes of a conflict between transactions. */
const CONFLICT = /\b(?:40P01|40001)\b/;
/** The codes of what was cancelled. */
const CANCELLED = /\b(?:57014|AMBIT_TX_ABORTED|AbortError)\b/;

/** What went wrong in a request, the causes before what follows from them. */
export function signsOf(request: RequestDetails, slowMs: number): Sign[] {
  const signs = [
    ...failedServices(request),
    ...failedStatements(request),
    ...failedCommits(request),
    ...failedHandlers(request),
    ...refusedConnections(request),
    ...waits(request),
    ...alike(request),
    ...findings(request),
    ...idleTransactions(request),
    ...slowCalls(request),
  ];
  const kinds = new Set(signs.map(({ kind }) => kind));
  const causes = signs.filter(({ kind, about = '' }) => {
    const shown = kind === 'finding' ? SHOWN_TOO[about] : undefined;
    return shown === undefined || !kinds.has(shown);
  });
  const { milliseconds = 0, statementMs, state } = request;
  // Findings, and many statements that are short, explain little of its time.
  const isExplained = causes.some(
    ({ kind }) => kind !== 'finding' && (kind !== 'N+1' || statementMs >= milliseconds / 2),
  );
  return [...causes, ...aborts(request), ...(isExplained || state === 'aborted' ? [] : slow(request, slowMs))];
}

/** A response of 4xx is what the application has decided, whatever led to it. */
const isRefusal = ({ status = 0 }: RequestDetails): boolean => status >= 400 && status < 500;

const failed = (request: RequestDetails): boolean =>
  (request.status ?? 0) >= 500 ||
  (!isRefusal(request) && (request.outcome === 'rolled back' || request.outcome === 'unknown'));

/** Of a request that was refused only what no client can be the reason for: a key that cannot be resolved. */
function failedServices(request: RequestDetails): Sign[] {
  const all = of(request.steps, 'failed');
  const meant = isRefusal(request) ? all.filter(({ error = '' }) => error.startsWith('ContainerError')) : all;
  return meant.map(({ path = [], error, where }) => ({
    kind: 'failed service',
    cause: `${path.at(-1)} could not be created${path.length > 1 ? ` for ${path.slice(0, -1).join(' → ')}` : ''}: ${error}`,
    where,
    error,
    about: path.join(' '),
    // What is not registered, or may not be kept, is asked for by the one before.
    service: error?.startsWith('ContainerError') ? path.at(-2) : path.at(-1),
    fix: error?.includes('AMBIT_CAPTIVE_DEPENDENCY') ? CAPTIVE : undefined,
  }));
}

const CAPTIVE =
  'The last service of the path has a shorter lifetime than the one before it: register both for the same scope, or pass it to the methods.';

function failedStatements(request: RequestDetails): Sign[] {
  return of(request.steps, 'statement').flatMap((step): Sign[] => {
    const { error, sql, where, took, heldBy } = step;
    if (error === undefined) return [];
    const late = error.includes('AMBIT_TX_FINISHED');
    if (late)
      return [
        { kind: 'after commit', cause: 'A statement was sent after its transaction had finished', where, sql, error },
      ];
    // Nobody waits for its response, but it may still be retried.
    if (CONFLICT.test(error) && request.state === 'aborted' && request.open > 0) return [];
    if (CONFLICT.test(error)) return [{ kind: 'deadlock', cause: conflictOf(request, step), where, sql, error }];
    if (error.includes('55P03')) {
      return [
        {
          kind: 'lock',
          cause: `No lock after ${ms(took)} of waiting${holderText(heldBy)}`,
          where,
          sql,
          error,
        },
      ];
    }
    // It was cancelled because its client disconnected.
    if (request.state === 'aborted' && CANCELLED.test(error)) return [];
    return failed(request)
      ? [{ kind: 'failed statement', cause: `The database refused the statement: ${error}`, where, sql, error }]
      : [];
  });
}

/** Its transaction was retried where a later one sent the same statement, and committed. */
function conflictOf({ steps, status, state }: RequestDetails, { at, sql, error }: Step): string {
  const committed = new Set(of(steps, 'commit').map(({ span }) => span));
  const isDone = of(steps, 'statement').some(
    (step) => step.at > at && step.sql === sql && step.error === undefined && committed.has(step.span),
  );
  const conflicts = new Set(steps.filter((step) => CONFLICT.test(step.error ?? '')).map(({ span }) => span));
  const end = isDone
    ? `; committed after ${conflicts.size} ${conflicts.size === 1 ? 'rollback' : 'rollbacks'}`
    : `; not retried with success, and ${state === 'aborted' ? 'its client had disconnected' : `responded ${status}`}`;
  return `Two transactions were in each other's way (${error})${end}`;
}

function failedCommits(request: RequestDetails): Sign[] {
  const { steps } = request;
  const refused = of(steps, 'rollback').filter(({ error = '' }) => error.includes('AMBIT_TX_COMMIT_FAILED'));
  return [
    ...refused.flatMap((step): Sign[] => {
      const { error = '' } = step;
      const last = lastWriting(steps, step) ?? lastStatement(steps, step);
      if (CONFLICT.test(error)) {
        if (request.state === 'aborted' && request.open > 0) return [];
        const cause = conflictOf(request, { ...step, sql: last?.sql ?? '', at: last?.at ?? step.at });
        return [{ kind: 'deadlock', cause, where: last?.where, error }];
      }
      if (isRefusal(request)) return [];
      const { where, sql } = last ?? {};
      return [{ kind: 'failed commit', cause: `COMMIT was refused: ${error}`, error, where, sql }];
    }),
    ...of(steps, 'commit unknown').map((step): Sign => ({
      kind: 'unknown outcome',
      cause: `Nobody knows whether COMMIT succeeded: ${step.error ?? 'no response of the database'}`,
      error: step.error,
      where: lastStatement(steps, step)?.where,
    })),
  ];
}

/** An error that is accounted for by a statement, a service or COMMIT is not counted again. */
function failedHandlers(request: RequestDetails): Sign[] {
  const { status = 0, steps, route } = request;
  if (status < 500) return [];
  const thrown = of(steps, 'threw').filter(({ known }) => known !== true);
  return thrown.slice(0, 1).map(({ error, where }) => ({
    kind: 'failed handler',
    cause: `The handler failed with ${error}`,
    error,
    where,
    ...(where === undefined && { about: route }),
  }));
}

function refusedConnections({ steps }: RequestDetails): Sign[] {
  return of(steps, 'no connection').map((step) =>
    shortage(step, `Got no connection after ${ms(step.took)} (${step.error})`),
  );
}

/** One cause is a route that keeps connections at one line, or that there are many short transactions. */
function shortage({ heldBy, where }: Step, what: string): Sign {
  const isBusy = heldBy?.among !== undefined;
  return {
    kind: 'pool',
    cause: `${what}${holderText(heldBy)}`,
    where: heldBy?.where ?? where,
    about: isBusy ? 'busy' : (heldBy?.name ?? ''),
    fix: isBusy ? BUSY_POOL : undefined,
  };
}

const BUSY_POOL =
  'There are many transactions, and none waited long for one thing: look at the load first. A larger pool helps where the database has cores to spare.';

/** What was waited for is at the line that held it. */
function waits({ steps }: RequestDetails): Sign[] {
  const connections = of(steps, 'connection').filter((step) => waited(step) >= LONG_WAIT_MS);
  const locks = of(steps, 'statement').filter(({ error, heldBy }) => error === undefined && heldBy !== undefined);
  return [
    ...connections.map((step) => shortage(step, `Waited ${ms(step.took)} for a connection`)),
    ...locks.map(({ took, sql, heldBy, where }): Sign => ({
      kind: 'lock',
      cause: `Waited ${ms(took)} for a lock${holderText(heldBy)}`,
      where: heldBy?.where ?? where,
      sql,
    })),
  ];
}

/** Who had what was waited for, and what it did meanwhile, after a semicolon. */
function holderText(held: Step['heldBy']): string {
  if (!held) return '';
  if (held.among !== undefined)
    return `; meanwhile ${held.among} transactions had one, the longest for ${ms(held.milliseconds)} (${held.name})`;
  const who = held.request === undefined ? held.name : `${held.name} (request ${held.request})`;
  const what = held.ended
    ? `went on when ${who} had completed its transaction`
    : `meanwhile ${who} had a transaction open`;
  return `; ${what}, which was open for ${ms(held.milliseconds)}${held.doing === undefined ? '' : `: ${held.doing}`}`;
}

function alike({ steps, alike: times, dropped, milliseconds = Infinity }: RequestDetails): Sign[] {
  if (times < MOST_ALIKE) return [];
  const undone = new Set(of(steps, 'rollback').map(({ span }) => span));
  const counts = new Map<string, { readonly sql: string; readonly steps: Step[] }>();
  for (const step of of(steps, 'statement')) {
    // What its code does after the response is no part of it.
    if (step.at > milliseconds) continue;
    const { sql = '', span } = step;
    // Each attempt of a transaction sends the same.
    const id = undone.has(span) ? `${span} ${sql}` : sql;
    const same = counts.get(id);
    if (same) same.steps.push(step);
    else counts.set(id, { sql, steps: [step] });
  }
  return [...counts.values()]
    .filter((same) => same.steps.length >= MOST_ALIKE)
    .map(({ sql, steps: same }) => {
      const [most, ...others] = byLine(same);
      const from =
        others.length === 0 ? '' : `, from ${others.length + 1} lines, ${most?.length} of them from this one`;
      const atLeast = dropped > 0 ? 'at least ' : '';
      const cause = `One request sent the statement ${atLeast}${same.length} times${from}`;
      return { kind: 'N+1', cause, sql, where: most?.[0]?.where };
    });
}

/** The line with the most steps first. */
function byLine(steps: readonly Step[]): Step[][] {
  const lines = new Map<string, Step[]>();
  for (const step of steps) lines.set(step.where ?? '', [...(lines.get(step.where ?? '') ?? []), step]);
  return [...lines.values()].toSorted((one, other) => other.length - one.length);
}

/** A sentence for each kind of finding: the message of the check may name a requested path. */
const FOUND: Readonly<Record<string, string>> = {
  'outside-statement': 'A statement was sent outside of the open transaction, so a rollback does not undo it',
  'second-connection': 'A second connection was asked for while a transaction held one: a full pool would block both',
  'http-request': 'Another server was asked while a transaction was open, which kept its connection and its locks',
  gap: 'A transaction was open for long without a statement, and kept its connection and its locks',
  'repeated-statement': 'One statement was sent again and again',
  'error-committed': 'What was written was committed, though the response says that the work was refused',
  'error-rolled-back':
    'What was written was rolled back, maybe the count of an attempt: the response refuses the client',
};

function findings({ steps }: RequestDetails): Sign[] {
  return of(steps, 'finding').map(({ found = '', key, sql, where }) => ({
    kind: 'finding',
    cause: `${FOUND[found] ?? `The transaction check found ${found}`}${key === undefined ? '' : `: in ${key}`}`,
    where,
    sql,
    about: found,
    fix: FIX_OF_FINDING[found],
  }));
}

const FIX_OF_FINDING: Readonly<Record<string, string>> = {
  'outside-statement':
    'Resolve the service in the scope of the transaction, and inject IConnection there in place of the pool.',
  'second-connection':
    'Pass the scope of the transaction to the inner runInTransaction(): it is a savepoint on the same connection then.',
  'http-request': 'Send it before BEGIN or after COMMIT, or write it to an outbox.',
  gap: FIX['idle transaction'],
  'repeated-statement': FIX['N+1'],
  'error-committed': 'Throw in place of sending the response, or set rollbackOn.',
  'error-rolled-back': 'Send the response in place of throwing, or write outside of the transaction, in unchecked().',
};

/** What the check finds and the steps show as well, with more of it. */
const SHOWN_TOO: Readonly<Record<string, TroubleKind>> = {
  'http-request': 'idle transaction',
  gap: 'idle transaction',
  'repeated-statement': 'N+1',
};

/** Between two of its statements, or between the last one and its end. */
function idleTransactions({ steps }: RequestDetails): Sign[] {
  const signs: Sign[] = [];
  /** Of each open transaction its scope, the end of its last statement, and that. */
  const open = new Map<number | undefined, { readonly since: number; readonly last: Step }>();
  for (const step of steps) {
    const { kind, at, span, took = 0 } = step;
    const idle = open.get(span);
    const isOfIt = kind === 'statement' ? step.outside !== true : ENDS.has(kind);
    if (idle && isOfIt && at - idle.since >= IDLE_MS) {
      const { since, last } = idle;
      const call = of(steps, 'call').find((one) => one.at >= since - 1 && (one.took ?? 0) >= (at - since) / 2);
      const meanwhile = call ? `; meanwhile it waited for ${call.host}` : '';
      const cause = `A transaction was open for ${ms(at - since)} without a statement${meanwhile}`;
      // The time was lost after its last statement and before this one.
      signs.push({ kind: 'idle transaction', cause, where: call?.where ?? last.where ?? step.where });
    }
    if (kind === 'begin' || (isOfIt && idle)) open.set(span, { since: at + took, last: step });
    if (ENDS.has(kind)) open.delete(span);
  }
  return signs;
}

const ENDS: ReadonlySet<Step['kind']> = new Set(['commit', 'rollback', 'commit unknown'] as const);

function slowCalls({ steps }: RequestDetails): Sign[] {
  return of(steps, 'call')
    .filter((step) => waited(step) >= LONG_CALL_MS)
    .map(({ took, host, where, error }) => ({
      kind: 'slow call',
      cause: `A call to ${host} took ${ms(took)}${error === undefined ? '' : ` and failed with ${error}`}`,
      where,
      about: host ?? '',
    }));
}

function aborts({ state, steps, milliseconds, route }: RequestDetails): Sign[] {
  if (state !== 'aborted') return [];
  const end = steps.findIndex(({ kind }) => kind === 'aborted');
  const { kind, doing, sql, where } = steps.slice(0, end + 1).findLast((step) => step.where !== undefined) ?? {};
  const before = where === undefined ? '' : '; of what it did then only the line before is known';
  return [
    {
      kind: 'aborted',
      cause: `The client disconnected after ${ms(milliseconds)}, before it had the whole response${doing === undefined ? before : `: ${doing}`}`,
      where,
      sql: kind === 'aborted' ? undefined : sql,
      ...(where === undefined && { about: route }),
    },
  ];
}

/** Said only where nothing else explains it. */
function slow({ milliseconds = 0, steps, route }: RequestDetails, slowMs: number): Sign[] {
  if (milliseconds < slowMs) return [];
  const [longest] = steps.toSorted((one, other) => (other.took ?? 0) - (one.took ?? 0));
  const { took = 0, late: lateOfIt = 0, kind, key, where, sql } = longest ?? {};
  if (took >= milliseconds / 2) {
    const what = kind === 'created' ? `creating ${key}` : `one ${kind}`;
    const busy =
      lateOfIt >= took / 2 ? `; for ${ms(lateOfIt)} of that this process did nothing else, or had no processor` : '';
    const cause = `Took ${ms(milliseconds)}, of which ${ms(took)} in ${what}${busy}`;
    return [{ kind: 'slow', cause, where, sql, ...(where === undefined && { about: `${route} ${what}` }) }];
  }
  const { late = 0 } = steps.find(({ kind: one }) => one === 'responded') ?? {};
  if (late >= milliseconds / 2) {
    const cause = `Took ${ms(milliseconds)}, for ${ms(late)} of which this process was busy with other things, or had no processor`;
    return [
      {
        kind: 'slow',
        cause,
        about: `late ${route}`,
        fix: 'Look for blocked loops first, then at the load of the machine.',
      },
    ];
  }
  const gap = longestGap(steps, milliseconds);
  const cause = `Took ${ms(milliseconds)}, of which no statement, call or wait explains half; ${ms(gap.took)} of it passed ${gap.after === undefined ? 'before the first line that is known' : 'after this line'}`;
  const fix =
    'Look at what the code does after the line, or before it where no line is given: it waits or computes there.';
  return [{ kind: 'slow', cause, where: gap.after, fix, ...(gap.after === undefined && { about: route }) }];
}

/** The longest time in which nothing was recorded, and the last line that is known before it. */
function longestGap(steps: readonly Step[], milliseconds: number): { took: number; after: string | undefined } {
  let found: { took: number; after: string | undefined } = { took: 0, after: undefined };
  let [end, line]: [number, string | undefined] = [0, undefined];
  for (const { at, took = 0, where } of [
    ...steps.filter((step) => step.at <= milliseconds),
    { at: milliseconds },
  ] as Step[]) {
    if (at - end > found.took) found = { took: at - end, after: line };
    end = Math.max(end, at + took);
    line = where ?? line;
  }
  return found;
}

/** Of the transaction that ended with this step. */
const lastStatement = (steps: readonly Step[], { span, at }: Step): Step | undefined =>
  of(steps, 'statement').findLast((step) => step.where !== undefined && step.span === span && step.at <= at);

/** Its last statement that wrote the table of the violated constraint. */
const lastWriting = (steps: readonly Step[], { span, at, table }: Step): Step | undefined =>
  of(steps, 'statement').findLast(
    ({ span: its, at: sent, sql = '' }) =>
      its === span && sent <= at && table !== undefined && lockedBy(sql).some((one) => one.split('.').at(-1) === table),
  );

/** The time of a step, without that in which this process could not have noticed its end. */
const waited = ({ took = 0, late = 0 }: Step): number => took - late;

function of(steps: readonly Step[], kind: Step['kind']): Step[] {
  return steps.filter((step) => step.kind === kind);
}

/** Short, and the same for the same cause in each recording, so that a link may name it. */
export function idOf({ kind, where = '', sql = '', error = '', about = '' }: Sign): string {
  let hash = 0;
  for (const character of [kind, where, sql, error, about].join('\n')) {
    hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return hash.toString(36);
}

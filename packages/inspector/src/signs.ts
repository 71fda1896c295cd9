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

const FIX: Readonly<Record<TroubleKind, string>> = {
  'failed handler': 'Correct the line, or throw an error with a status below 500 where the request is at fault.',
  'failed service':
    'The service at the end of the path threw, or is not registered: correct its constructor or its registration.',
  'failed statement': 'Read the SQLSTATE: the statement, its values or the schema is wrong.',
  'failed commit': 'The database refused COMMIT and stored nothing: a deferred constraint.',
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

/** Advice for codes that say more than the kind of the trouble. */
const FIX_OF_CODE: readonly (readonly [RegExp, string])[] = [
  [/\b40001\b/, 'Change rows in one statement, or read them FOR UPDATE; runInTransaction() retries what remains.'],
  [/\b57014\b/, 'A time limit cancelled it: read its plan with EXPLAIN, or raise the limit.'],
  [/\bP0001\b/, 'A function or a trigger of the schema refuses it: the statement or the function is wrong.'],
  [/\b23505\b/, 'The row is there already: respond with 409, or write ON CONFLICT.'],
  [/\b23503\b/, 'The row that it refers to is not there, or another one still refers to it.'],
  [/\b42(?:703|P01)\b/, 'The schema has no such column or table: a migration is missing, or the name is misspelt.'],
  [
    /AMBIT_CAPTIVE_DEPENDENCY/,
    'The last service of the path has a shorter lifetime than the one before it: register both for the same scope, or pass it to the methods.',
  ],
];

/** What to do about it. */
export function fixOf({ kind, fix, error = '' }: Pick<Sign, 'error' | 'fix' | 'kind'>): string {
  return fix ?? FIX_OF_CODE.find(([code]) => code.test(error))?.[1] ?? FIX[kind];
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
    ...shortages(request),
    ...alike(request),
    ...findings(request),
    ...idleTransactions(request),
    ...slowCalls(request),
  ];
  const kinds = new Set(signs.map(({ kind }) => kind));
  const causes = signs.filter(({ kind, about = '' }) => {
    const shownAs = kind === 'finding' ? FINDINGS[about]?.shownAs : undefined;
    return shownAs === undefined || !kinds.has(shownAs);
  });
  const { milliseconds = 0, statementMs, state } = request;
  // Findings, and many statements that are short, explain little of its time.
  const isExplained = causes.some(
    ({ kind, sql }) => kind !== 'finding' && (kind !== 'N+1' || sql === undefined || statementMs >= milliseconds / 2),
  );
  if (state === 'aborted') return [...causes, aborted(request)];
  return isExplained || milliseconds < slowMs ? causes : [...causes, slow(request)];
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
  return meant.map(({ path = [], error = '', where }) => ({
    kind: 'failed service',
    cause: `${path.at(-1)} could not be created${path.length > 1 ? ` for ${path.slice(0, -1).join(' → ')}` : ''}: ${error}`,
    where,
    error,
    about: path.join(' '),
    // The service before asks for what is not registered, or may not be kept.
    service: error.startsWith('ContainerError') ? path.at(-2) : path.at(-1),
  }));
}

function failedStatements(request: RequestDetails): Sign[] {
  return of(request.steps, 'statement').flatMap((step): Sign[] => {
    const { error, sql, where, took } = step;
    if (error === undefined) return [];
    const sign = (kind: TroubleKind, cause: string): Sign[] => [{ kind, cause, where, sql, error }];
    if (error.includes('AMBIT_TX_FINISHED'))
      return sign('after commit', 'A statement was sent after its transaction had finished');
    if (CONFLICT.test(error)) return isUndecided(request) ? [] : sign('deadlock', conflictOf(request, step));
    if (error.includes('55P03')) return sign('lock', `No lock after ${ms(took)} of waiting`);
    // It was cancelled because its client disconnected.
    if (request.state === 'aborted' && CANCELLED.test(error)) return [];
    return failed(request) ? sign('failed statement', `The database refused the statement: ${error}`) : [];
  });
}

/** Nobody waits for its response, but its transaction may still be retried. */
const isUndecided = ({ state, open }: RequestDetails): boolean => state === 'aborted' && open > 0;

/** Its transaction was retried where a later one sent the same statement, and committed. */
function conflictOf({ steps, status, state }: RequestDetails, { at, sql, error }: Step): string {
  const committed = new Set(of(steps, 'commit').map(({ span }) => span));
  const isDone = of(steps, 'statement').some(
    (step) => step.at > at && step.sql === sql && step.error === undefined && committed.has(step.span),
  );
  const rollbacks = new Set(steps.filter((step) => CONFLICT.test(step.error ?? '')).map(({ span }) => span)).size;
  const response = state === 'aborted' ? 'its client had disconnected' : `responded ${status}`;
  const end = isDone
    ? `committed after ${rollbacks} ${rollbacks === 1 ? 'rollback' : 'rollbacks'}`
    : `not retried with success, and ${response}`;
  return `Two transactions were in each other's way (${error}); ${end}`;
}

function failedCommits(request: RequestDetails): Sign[] {
  const { steps } = request;
  const last = ({ span, at }: Step): Step | undefined =>
    of(steps, 'statement').findLast((step) => step.where !== undefined && step.span === span && step.at <= at);
  const refused = of(steps, 'rollback').filter(({ error = '' }) => error.includes('AMBIT_TX_COMMIT_FAILED'));
  return [
    ...refused.flatMap((step): Sign[] => {
      const { error = '' } = step;
      const { where, sql = '', at = step.at } = last(step) ?? {};
      if (CONFLICT.test(error))
        return isUndecided(request)
          ? []
          : [{ kind: 'deadlock', cause: conflictOf(request, { ...step, sql, at }), where, error }];
      return isRefusal(request)
        ? []
        : [{ kind: 'failed commit', cause: `COMMIT was refused: ${error}`, error, where, sql }];
    }),
    ...of(steps, 'commit unknown').map((step): Sign => ({
      kind: 'unknown outcome',
      cause: `Nobody knows whether COMMIT succeeded: ${step.error ?? 'no response of the database'}`,
      error: step.error,
      where: last(step)?.where,
    })),
  ];
}

/** An error that is accounted for by a statement, a service or COMMIT is not counted again. */
function failedHandlers({ status = 0, steps, route }: RequestDetails): Sign[] {
  const thrown = status < 500 ? undefined : of(steps, 'threw').find(({ known }) => known !== true);
  if (!thrown) return [];
  const { error, where } = thrown;
  const about = where === undefined ? { about: route } : {};
  return [{ kind: 'failed handler', cause: `The handler failed with ${error}`, error, where, ...about }];
}

const BUSY_POOL =
  'There are many transactions, and none had its connection for long: look at the load first. A larger pool helps where the database has cores to spare.';

/** One cause for long waits and for waits without result: the request that had a connection for longest. */
function shortages({ steps }: RequestDetails): Sign[] {
  const waits = steps.filter(
    (step) => step.kind === 'no connection' || (step.kind === 'connection' && waited(step) >= LONG_WAIT_MS),
  );
  return waits.map(({ took, error, doing, heldAt, heldBy, where }) => ({
    kind: 'pool',
    cause: `${error === undefined ? 'Waited' : 'Got no connection after'} ${ms(took)}${error === undefined ? ' for a connection' : ` (${error})`}${doing === undefined ? '' : `; ${doing}`}`,
    where: heldAt ?? where,
    about: heldBy ?? '',
    fix: doing !== undefined && heldBy === undefined ? BUSY_POOL : undefined,
  }));
}

/** Statements with one text, and calls to one server from one line, before the response. */
function alike({ steps, dropped, milliseconds = Infinity }: RequestDetails): Sign[] {
  const undone = new Set(of(steps, 'rollback').map(({ span }) => span));
  const groups = new Map<string, Step[]>();
  for (const step of steps) {
    const { kind, at, span, sql, host, where } = step;
    if ((kind !== 'statement' && kind !== 'call') || at > milliseconds) continue;
    // Each attempt of a transaction sends the same.
    const id = kind === 'call' ? `${host} ${where}` : undone.has(span) ? `${span} ${sql}` : `${sql}`;
    groups.set(id, [...(groups.get(id) ?? []), step]);
  }
  return [...groups.values()].flatMap((same): Sign[] => {
    if (same.length < MOST_ALIKE) return [];
    const [most = [], ...others] = byLine(same);
    const [{ kind, sql, host, where } = {}] = most;
    const times = `${dropped > 0 ? 'at least ' : ''}${same.length} times`;
    if (kind === 'call') {
      const cause = `One request called ${host} ${times}, for ${ms(sum(same))} in all`;
      return [
        { kind: 'N+1', cause, where, about: host ?? '', fix: 'Ask once for all, or send the calls at the same time.' },
      ];
    }
    const from = others.length === 0 ? '' : `, from ${others.length + 1} lines, ${most.length} of them from this one`;
    return [{ kind: 'N+1', cause: `One request sent the statement ${times}${from}`, sql, where }];
  });
}

const sum = (steps: readonly Step[]): number => steps.reduce((all, { took = 0 }) => all + took, 0);

/** The line with the most steps first. */
function byLine(steps: readonly Step[]): Step[][] {
  const lines = new Map<string, Step[]>();
  for (const step of steps) lines.set(step.where ?? '', [...(lines.get(step.where ?? '') ?? []), step]);
  return [...lines.values()].toSorted((one, other) => other.length - one.length);
}

interface Finding {
  /** The message of the check may name a requested path. */
  readonly cause: string;
  readonly fix: string;
  /** The steps show it as well, with more of it. */
  readonly shownAs?: TroubleKind;
}

const FINDINGS: Readonly<Record<string, Finding>> = {
  'outside-statement': {
    cause: 'A statement was sent outside of the open transaction, so a rollback does not undo it',
    fix: 'Resolve the service in the scope of the transaction, and inject IConnection there in place of the pool.',
  },
  'second-connection': {
    cause: 'A second connection was asked for while a transaction held one: a full pool would block both',
    fix: 'Pass the scope of the transaction to the inner runInTransaction(): it is a savepoint on the same connection then.',
  },
  'http-request': {
    cause: 'Another server was asked while a transaction was open, which kept its connection and its locks',
    fix: 'Send it before BEGIN or after COMMIT, or write it to an outbox.',
    shownAs: 'idle transaction',
  },
  gap: {
    cause: 'A transaction was open for long without a statement, and kept its connection and its locks',
    fix: FIX['idle transaction'],
    shownAs: 'idle transaction',
  },
  'repeated-statement': { cause: 'One statement was sent again and again', fix: FIX['N+1'], shownAs: 'N+1' },
  'error-committed': {
    cause: 'What was written was committed, though the response says that the work was refused',
    fix: 'Throw in place of sending the response, or set rollbackOn.',
  },
  'error-rolled-back': {
    cause: 'What was written was rolled back, maybe the count of an attempt: the response refuses the client',
    fix: 'Send the response in place of throwing, or write outside of the transaction, in unchecked().',
  },
};

function findings({ steps }: RequestDetails): Sign[] {
  return of(steps, 'finding').map(({ found = '', key, sql, where }) => ({
    kind: 'finding',
    cause: `${FINDINGS[found]?.cause ?? `The transaction check found ${found}`}${key === undefined ? '' : `: in ${key}`}`,
    where,
    sql,
    about: found,
    fix: FINDINGS[found]?.fix,
  }));
}

const ENDS: ReadonlySet<Step['kind']> = new Set(['commit', 'rollback', 'commit unknown'] as const);

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

function slowCalls({ steps }: RequestDetails): Sign[] {
  const long = of(steps, 'call').filter((step) => waited(step) >= LONG_CALL_MS);
  return long.map(({ took, host = '', where, error }) => ({
    kind: 'slow call',
    cause: `A call to ${host} took ${ms(took)}${error === undefined ? '' : ` and failed with ${error}`}`,
    where,
    about: host,
  }));
}

function aborted({ steps, milliseconds, route }: RequestDetails): Sign {
  const end = steps.findIndex(({ kind }) => kind === 'aborted');
  const { kind, doing, sql, where } = steps.slice(0, end + 1).findLast((step) => step.where !== undefined) ?? {};
  const before = where === undefined ? '' : '; of what it did then only the line before is known';
  const what = `The client disconnected after ${ms(milliseconds)}, before it had the whole response`;
  return {
    kind: 'aborted',
    cause: `${what}${doing === undefined ? before : `: ${doing}`}`,
    where,
    sql: kind === 'aborted' ? undefined : sql,
    ...(where === undefined && { about: route }),
  };
}

/** Said only where nothing else explains it. */
function slow({ milliseconds = 0, steps, route }: RequestDetails): Sign {
  const [longest] = steps.toSorted((one, other) => (other.took ?? 0) - (one.took ?? 0));
  const { took = 0, late: lateOfIt = 0, kind, key, where, sql } = longest ?? {};
  const begin = `Took ${ms(milliseconds)}`;
  if (took >= milliseconds / 2) {
    const what = kind === 'created' ? `creating ${key}` : `one ${kind}`;
    const busy = `; for ${ms(lateOfIt)} of that this process did nothing else, or had no processor`;
    const cause = `${begin}, of which ${ms(took)} in ${what}${lateOfIt >= took / 2 ? busy : ''}`;
    return { kind: 'slow', cause, where, sql, ...(where === undefined && { about: `${route} ${what}` }) };
  }
  const { late = 0 } = of(steps, 'responded')[0] ?? {};
  if (late >= milliseconds / 2) {
    const cause = `${begin}, for ${ms(late)} of which this process was busy with other things, or had no processor`;
    const fix = 'Look for blocked loops first, then at the load of the machine.';
    return { kind: 'slow', cause, about: `late ${route}`, fix };
  }
  const gap = longestGap(steps, milliseconds);
  const after = gap.after === undefined ? 'before the first line that is known' : 'after this line';
  const cause = `${begin}, of which no statement, call or wait explains half; ${ms(gap.took)} of it passed ${after}`;
  const fix =
    'Look at what the code does after the line, or before it where no line is given: it waits or computes there.';
  return { kind: 'slow', cause, where: gap.after, fix, ...(gap.after === undefined && { about: route }) };
}

/** The longest time in which nothing was recorded, and the last line that is known before it. */
function longestGap(steps: readonly Step[], milliseconds: number): { took: number; after: string | undefined } {
  let found: { took: number; after: string | undefined } = { took: 0, after: undefined };
  let [end, line]: [number, string | undefined] = [0, undefined];
  const before = steps.filter((step) => step.at <= milliseconds);
  for (const { at, took = 0, where } of [...before, { kind: 'responded', at: milliseconds } as Step]) {
    if (at - end > found.took) found = { took: at - end, after: line };
    end = Math.max(end, at + took);
    line = where ?? line;
  }
  return found;
}

/** The time of a step, without that in which this process could not have noticed its end. */
const waited = ({ took = 0, late = 0 }: Step): number => took - late;

const of = (steps: readonly Step[], kind: Step['kind']): Step[] => steps.filter((step) => step.kind === kind);

/** Short, and the same for the same cause in each recording, so that a link may name it. */
export function idOf({ kind, where = '', sql = '', error = '', about = '' }: Sign): string {
  let hash = 0;
  for (const character of [kind, where, sql, error, about].join('\n')) {
    hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return hash.toString(36);
}

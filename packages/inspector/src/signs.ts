import { ms } from './names.js';
import { isWork } from './kinds.js';
import type { Settings } from './options.js';
import type { Cause, RequestDetails, Share, Step } from './wire.js';

/** One occurrence of a trouble. Occurrences of the same kind, place, statement and error have one cause. */
export interface Evidence extends Omit<Cause, 'fix' | 'id' | 'kind'> {
  /** A text that tells it from others of its kind, where place, statement and error do not. */
  readonly about?: string | undefined;
  /** The fix, where it is known better than of its kind. */
  readonly fix?: string | undefined;
  /** Without a line: the service whose definition is the line. */
  readonly service?: string | undefined;
  /** The step of the request that shows it. */
  readonly step?: Step | undefined;
  /** The milliseconds that it took. */
  readonly lost?: number | undefined;
  /** Work was lost, whatever the response says. */
  readonly fails?: boolean;
  /** The causes that it follows from, the first of which there is: `pool`, `second connection GET /orders`, `slow call src/bank.ts:1:2`, an id. */
  readonly into?: readonly string[] | undefined;
  /** The pool, where there are several. */
  readonly pool?: string | undefined;
  /** The holders of connections meanwhile. */
  readonly shares?: readonly Share[] | undefined;
}

export interface Sign extends Evidence {
  readonly id: string;
  readonly kind: TroubleKind;
}

export type Limits = Pick<Settings, 'limitMs' | 'slowMs'>;

interface Rule {
  /** The fix, where the evidence has none of its own. */
  readonly fix: string;
  /** Looks for it in a request that is complete. */
  readonly find?: (request: RequestDetails, limits: Limits) => readonly Evidence[];
}

/** What else there is to do where a failure has ended a timer or a loop. */
export const NEXT_RUN = 'Catch what one run throws, so that the next one is begun nevertheless';

/** Each kind of trouble, the causes before what follows from them. */
const RULES = {
  'failed service': {
    fix: 'The service at the end of the path threw, or is not registered: correct its constructor or its registration.',
    find: failedServices,
  },
  'after commit': {
    fix: 'The connection was used after the transaction had finished: await the statement in the work of the transaction.',
    find: (request) =>
      failedAs('after commit', request).map((step) => ({
        ...evidence(step, 'A statement was sent after its transaction had finished'),
        fails: WRITES.test(step.sql ?? ''),
      })),
  },
  deadlock: {
    fix: 'Lock rows in one order everywhere, such as that of their keys; retry what remains, as runInTransaction() does.',
    find: (request) => conflicts('deadlock', request),
  },
  conflict: {
    fix: 'Change rows in one statement, or read them FOR UPDATE; runInTransaction() retries what remains.',
    find: (request) => conflicts('conflict', request),
  },
  'failed statement': {
    fix: 'Read the SQLSTATE: the statement, its values or the schema is wrong.',
    find: (request) =>
      (isFailure(request) ? failedAs('failed statement', request) : []).map((step) =>
        evidence(step, `The database refused the statement: ${step.error}`),
      ),
  },
  'failed commit': {
    fix: 'The database refused COMMIT and stored nothing: a deferred constraint.',
    find: (request) =>
      (isRefusal(request) ? [] : refusedCommits(request))
        .filter(({ error = '' }) => !CONFLICT.test(error))
        .map((step) => ({ ...evidence(step, `COMMIT was refused: ${step.error}`), ...lastOf(request, step) })),
  },
  'unknown outcome': {
    fix: 'The connection was lost during COMMIT. An idempotency key lets the client send the request again.',
    find: (request) =>
      of(request.steps, 'commit unknown').map((step) => {
        const cause = `Nobody knows whether COMMIT succeeded: ${step.error ?? 'no response of the database'}`;
        return { ...evidence(step, cause), where: lastOf(request, step).where };
      }),
  },
  'failed handler': {
    fix: 'Correct the line, or throw an error with a status below 500 where the request is at fault.',
    find: failedHandlers,
  },
  'fails each time': { fix: 'Correct the line: nothing of what it is for gets done, however often it is begun.' },
  stopped: { fix: `${NEXT_RUN}; where it was to end, nothing is wrong.` },
  unhandled: {
    fix: 'Await the promise, or pass its failure on with catch(): the caller believes that the work is done.',
  },
  'runs overlap': {
    fix: 'Begin the next run when the last one has ended, or none while one goes on; where its scope is never disposed, dispose it.',
  },
  'failed callback': {
    fix: 'Write what has to happen to an outbox, or respond only with what was done.',
    find: ({ steps, status }) =>
      of(steps, 'callback failed').map((step) => {
        const cause = `A callback of the transaction failed with ${step.error}; the response (${status}) does not say so`;
        return { ...evidence(step, cause), fails: true };
      }),
  },
  'error committed': {
    fix: 'Check before the first write, throw in place of responding, or set rollbackOn; where it is meant, nothing is wrong.',
    find: errorsCommitted,
  },
  'survived rollback': {
    fix: 'Send it on IConnection, so that it is rolled back as well; where it is meant to stay, nothing is wrong.',
    find: ({ steps }) => {
      const undone = of(steps, 'rollback');
      const within = steps.filter(({ at }) =>
        of(steps, 'begin').some((one) => one.at <= at && undone.some((end) => end.span === one.span && end.at >= at)),
      );
      const statements = of(within, 'statement')
        .filter(({ outside, error, sql = '' }) => outside === true && error === undefined && WRITES.test(sql))
        .map((step) => ({ ...evidence(step, OUTLIVES), into: [`second connection ${step.where}`], fails: true }));
      const calls = of(within, 'call')
        .filter(({ error, status = 0, method = 'GET' }) => error === undefined && status < 400 && !READS.test(method))
        .map((step) => ({ ...evidence(step, callOutlives(step)), about: step.host, fix: AFTER_COMMIT, fails: true }));
      return [...statements, ...calls];
    },
  },
  'hidden failure': {
    fix: 'Pass the failure on, or say in the response what is missing; where it is meant, nothing is wrong.',
    find: hiddenFailures,
  },
  'repeated call': {
    fix: 'Send a key with the call that stays the same, such as `Idempotency-Key`, and by which the server knows it again.',
    find: repeatedCalls,
  },
  'second connection': {
    fix: 'Send the statement on the connection of the transaction (IConnection), or before BEGIN: a larger pool only starves later.',
    find: (request) => idlesOf(request, true),
  },
  'never stopped': { fix: 'Stop the timer or the loop when the response closes, or when IRequestSignal aborts.' },
  'blocked loop': { fix: 'No other request was served meanwhile: divide the work, or move it to a worker.' },
  'failed disposal': {
    fix: 'Correct the disposal: what it was to release stays, or was removed before.',
    find: ({ steps }) =>
      of(steps, 'disposed')
        .filter(({ error }) => error !== undefined)
        .map((step) => {
          const { key = '', error } = step;
          return { ...evidence(step, `${key} could not be disposed: ${error}`), about: key, service: key };
        }),
  },
  pool: {
    fix: 'Keep connections for a shorter time, where the line says; a larger pool helps only where the database has cores to spare.',
    find: shortages,
  },
  'N+1': { fix: 'Read all rows with one statement: a join, or `= ANY ($1)`.', find: alike },
  'many rows': {
    fix: 'Read a page of them, by LIMIT and the last key, or add up in the database.',
    find: ({ rows, steps, method, route }) => {
      if (rows < MANY_ROWS) return [];
      const [most] = of(steps, 'statement').toSorted((one, other) => (other.rows ?? 0) - (one.rows ?? 0));
      const { rows: its = 0, where, sql } = most ?? {};
      const part = its === rows ? '' : `, ${its.toLocaleString('en')} of them here`;
      const cause = `${method} ${route} read ${rows.toLocaleString('en')} rows${part}`;
      return [{ cause, where, sql, step: most }];
    },
  },
  growing: {
    fix: 'Limit it by number or age, or keep it in the scope of the request; where it has a limit, nothing is wrong.',
  },
  finding: {
    fix: 'Do it in afterCommit(), or by an outbox: the guide of the transaction check has a section on it.',
    find: findings,
  },
  'idle transaction': {
    fix: 'It kept its connection and its locks meanwhile: do the other work before BEGIN or after COMMIT.',
    find: (request) => idlesOf(request, false),
  },
  'slow call': {
    fix: 'Give the call a time limit, and pass IRequestSignal on to it.',
    find: ({ steps }) =>
      of(steps, 'call')
        .filter((step) => waited(step) >= LONG_CALL_MS)
        .map((step) => {
          const { host = '', took, error, where } = step;
          const end = error === undefined ? '' : ` and failed with ${error}`;
          return { cause: `A call to ${host} took ${ms(took)}${end}`, where, about: host, lost: took, step };
        }),
  },
  leak: {
    fix: 'Dispose the scope in `finally`, or open it with inScope().',
    find: ({ steps }, limits) =>
      of(steps, 'scope')
        .filter(({ where }) => where !== undefined)
        .map((step) => ({ ...leakOf(step, limits), step })),
  },
  aborted: {
    fix: 'The client has disconnected. If it did not do so by itself, the request takes longer than its time limit.',
    find: aborted,
  },
  slow: { fix: 'Look at the plan of the statement with EXPLAIN, or at what the code does there.', find: slow },
  turned: { fix: 'Compare one of the newest requests with one from before.' },
  graph: { fix: 'The message says which registration to change.' },
} satisfies Readonly<Record<string, Rule>>;

export type TroubleKind = keyof typeof RULES;

/** Advice for codes that say more than the kind of the trouble. */
const FIX_OF_CODE: readonly (readonly [RegExp, string])[] = [
  [/\b57014\b.*(?:timeout|max_)/, 'It reached its time limit: read its plan with EXPLAIN, or raise the limit.'],
  [/\b57014\b/, 'It was cancelled: look at who asked for that, such as a signal or another session.'],
  [/\bP0001\b/, 'A function or a trigger of the schema refuses it: the statement or the function is wrong.'],
  [/\b55P03\b/, 'Keep the transaction that holds the lock short: no calls to other services in it.'],
  [/\b23505\b/, 'The row is there already: respond with 409, or write ON CONFLICT.'],
  [/\b23503\b/, 'The row that it refers to is not there, or another one still refers to it.'],
  [/\b42(?:703|P01)\b/, 'The schema has no such column or table: a migration is missing, or the name is misspelt.'],
  [
    /AMBIT_CAPTIVE_DEPENDENCY/,
    'The last service of the path has a shorter lifetime than the one before it: register both for the same scope, or pass it to the methods.',
  ],
];

/** One statement as often as this, in one request, is an N+1. */
export const MOST_ALIKE = 5;
/** Statements that give as many rows as this, on average, are pages of a list. */
const PAGE = 10;
/** The rows that a request may read. */
export const MANY_ROWS = 10_000;
/** A statement, a call or a wait of this long is looked at. */
export const LONG_WAIT_MS = 100;
const IDLE_MS = 1000;
/** It holds locks and a connection for as long as another server likes. */
const CALL_IN_TRANSACTION_MS = 250;
const LONG_CALL_MS = 1000;
/** The codes of a conflict between transactions. */
const CONFLICT = /\b(?:40P01|40001)\b/;
/** The codes of what was cancelled, but not by a time limit of the database. */
const CANCELLED = /\b(?:57014(?!.*(?:timeout|max_))|AMBIT_TX_ABORTED|AbortError|ERR_STREAM_PREMATURE_CLOSE)\b/;

/** They say nothing of a response that goes on for as long as its client likes. */
const OF_LENGTH: ReadonlySet<TroubleKind> = new Set(['aborted', 'many rows', 'N+1', 'slow']);

/** The fix of a kind of trouble, where the evidence has none. */
export const fixOf = (kind: TroubleKind): string => RULES[kind].fix;

/** When the client disconnects, what goes on is cancelled, and what comes then is refused. */
function followsFromAbort({ state, milliseconds = 0 }: RequestDetails, step: Step): boolean {
  const { kind, error } = step;
  if (state !== 'aborted' || error === undefined || kind === 'disposed' || CONFLICT.test(error)) return false;
  return ends(step) >= milliseconds || CANCELLED.test(error);
}

/** The troubles of a request, each cause once. */
export function signsOf(details: RequestDetails, limits: Limits): Sign[] {
  const request = { ...details, steps: details.steps.filter((step) => !followsFromAbort(details, step)) };
  const found = Object.entries<Rule>(RULES).flatMap(([kind, { find = () => [] }]) =>
    find(request, limits).map((one) => {
      const about = one.about ?? (one.where === undefined ? request.route : undefined);
      return signOf({ kind: kind as TroubleKind, ...one, about });
    }),
  );
  const kinds = new Set<string>(found.map(({ kind }) => kind));
  const causes = found.filter(({ kind, about = '' }) => {
    const shownAs = kind === 'finding' ? FINDINGS[about]?.[1] : undefined;
    // The call of the callback is its failure.
    if (kind === 'hidden failure' && kinds.has('failed callback')) return false;
    return shownAs === undefined || !kinds.has(shownAs);
  });
  const others = causes.filter(({ kind }) => kind !== 'slow');
  const timeOf = ({ lost, step }: Sign): number => lost ?? (step?.kind === 'scope' ? 0 : (step?.took ?? 0));
  const explained = others.reduce((sum, one) => sum + timeOf(one), 0);
  const isExplained = explained >= (request.milliseconds ?? 0) / 2 || (isFailure(request) && others.length > 0);
  const isShown = ({ kind }: Sign): boolean =>
    request.endless ? !OF_LENGTH.has(kind) : kind !== 'slow' || !isExplained;
  const shown = causes.filter(isShown);
  return shown.filter(({ id }, i) => shown.findIndex((one) => one.id === id) === i);
}

/** They have one cause for each line, whatever its statement and the route. */
const BY_LINE: ReadonlySet<TroubleKind> = new Set(['slow', 'slow call', 'aborted', 'idle transaction']);

/** With an id that is short, and the same for the same cause in each recording, so that a link may name it. */
export function signOf(found: Omit<Sign, 'id'>): Sign {
  const { kind, where, sql = '', error = '', about = '' } = found;
  const isOfLine = where !== undefined && BY_LINE.has(kind);
  const facts =
    kind === 'pool' || kind === 'blocked loop'
      ? [found.pool ?? about]
      : isOfLine
        ? [where]
        : [where ?? '', sql, error.split(': ', 1)[0] ?? '', about];
  let hash = 0;
  for (const character of [kind, ...facts].join('\n')) {
    hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return { ...found, id: hash.toString(36) };
}

/** The sign as people and tools read it. @param definition - the line of a service */
export function causeOf(sign: Sign, definition: (service: string) => string | undefined = () => undefined): Cause {
  const { id, kind, cause, sql, error, fix, service } = sign;
  const where = sign.where ?? (service === undefined ? undefined : definition(service));
  const advice = fix ?? FIX_OF_CODE.find(([code]) => code.test(error ?? ''))?.[1] ?? RULES[kind].fix;
  return { id, kind, cause, fix: advice, where, caller: callerOf(sign), sql, error };
}

/** The callers of the line of a step. */
export const callerOf = ({ caller, step, where }: Sign): string | undefined =>
  caller ?? (step?.where === where ? step?.caller : undefined);

const evidence = (step: Step, cause: string): Evidence => {
  const { where, sql, error } = step;
  return { cause, where, sql, error, step };
};

/** A response of 4xx is what the application has decided, whatever led to it. */
const isRefusal = ({ status = 0 }: RequestDetails): boolean => status >= 400 && status < 500;

/** A handler that failed after the headers has ended the connection: no client did. */
const isCutOff = ({ state, steps }: RequestDetails): boolean => state === 'aborted' && of(steps, 'threw').length > 0;

function isFailure(request: RequestDetails): boolean {
  const { state, status = 0, outcome } = request;
  if (state === 'aborted' || status >= 500) return status >= 500 || isCutOff(request);
  return !isRefusal(request) && (outcome === 'rolled back' || outcome === 'unknown');
}

/** A request that was refused has only failures for which no client can be the reason: a key that cannot be resolved. */
function failedServices(request: RequestDetails): Evidence[] {
  const all = of(request.steps, 'failed');
  const meant = isRefusal(request) ? all.filter(({ error = '' }) => error.startsWith('ContainerError')) : all;
  return meant.map((step) => {
    const { path = [], error = '' } = step;
    const whom = path.length > 1 ? ` for ${path.slice(0, -1).join(' → ')}` : '';
    return {
      ...evidence(step, `${path.at(-1)} could not be created${whom}: ${error}`),
      about: path.join(' '),
      // The service before asks for what is not registered, or may not be kept.
      service: error.startsWith('ContainerError') ? path.at(-2) : path.at(-1),
    };
  });
}

/** The kind of a failed statement, by its error. */
const FAILURES: readonly (readonly [string, RegExp])[] = [
  ['after commit', /AMBIT_TX_FINISHED/],
  ['deadlock', /\b40P01\b|deadlock detected/],
  ['conflict', /\b40001\b/],
  ['failed statement', /./],
];

const failedAs = (kind: string, { steps }: RequestDetails): Step[] =>
  of(steps, 'statement').filter(({ error = '' }) => kindOf(error) === kind);

const kindOf = (error: string): string | undefined => FAILURES.find(([, code]) => code.test(error))?.[0];

const refusedCommits = ({ steps }: RequestDetails): Step[] =>
  of(steps, 'rollback').filter(({ error = '' }) => error.includes('AMBIT_TX_COMMIT_FAILED'));

/** The last statement of a transaction, of which the line is known. */
function lastOf({ steps }: RequestDetails, { span, at }: Step): Pick<Evidence, 'sql' | 'where'> {
  const isBefore = (step: Step): boolean => step.where !== undefined && step.span === span && step.at <= at;
  const { where, sql } = of(steps, 'statement').findLast(isBefore) ?? {};
  return { where, sql };
}

/** A statement, or COMMIT, was in the way of another transaction. */
function conflicts(kind: 'conflict' | 'deadlock', request: RequestDetails): Evidence[] {
  // Nobody waits for the response, but the transaction may still be retried.
  if (request.state === 'aborted' && request.open > 0) return [];
  const commits = refusedCommits(request).filter(({ error = '' }) => kindOf(error) === kind);
  return [
    ...failedAs(kind, request).map((step) => evidence(step, conflictOf(kind, request, step))),
    ...commits.map((step) => ({ ...evidence(step, conflictOf(kind, request, step)), ...lastOf(request, step) })),
  ];
}

const IN_THE_WAY = {
  deadlock: "Two transactions were in each other's way",
  conflict: 'Another transaction changed what this one had read',
};

function conflictOf(kind: keyof typeof IN_THE_WAY, request: RequestDetails, { error }: Step): string {
  const { outcome, failedAttempts, status = 0, state } = request;
  const isDone = outcome === 'committed' && status < 500 && state === 'responded';
  const rollbacks = `${failedAttempts} ${failedAttempts === 1 ? 'rollback' : 'rollbacks'}`;
  const responded = isWork(request) ? (status < 500 ? 'was done' : 'failed') : `responded ${status}`;
  const response = state === 'aborted' ? 'its client had disconnected' : responded;
  const end = isDone ? `committed after ${rollbacks}` : `not retried with success, and ${response}`;
  return `${IN_THE_WAY[kind]} (${error}); ${end}`;
}

/** An error that is accounted for by a statement, a service or COMMIT is not counted again. */
function failedHandlers(request: RequestDetails): Evidence[] {
  const { status = 0, steps, method } = request;
  const all = of(steps, 'threw');
  const second = all.find(({ error = '' }) => error.includes('ERR_HTTP_HEADERS_SENT'));
  const isFailed = status >= 500 || isCutOff(request);
  const thrown = second ?? (isFailed ? all.find(({ known }) => known !== true) : undefined);
  if (!thrown) return [];
  // The stack of a time limit has no line of the application, but its call has.
  const call = of(steps, 'call').findLast(({ error }) => error !== undefined && error === thrown.error);
  const where = thrown.where ?? call?.where;
  const who = isWork({ method }) ? 'work' : 'handler';
  const cause = second ? `The handler responded ${status}, went on, and failed` : `The ${who} failed`;
  const fix = second && 'Return after the first response: what follows it is done without need, or wrong.';
  return [{ ...evidence(thrown, `${cause} with ${thrown.error}`), where, fix }];
}

export const BUSY_POOL =
  'No transaction had its connection for long: look at how many of these statements one request sends at once, then at the load. A larger pool helps where the database has cores to spare.';

const isWait = (step: Step): boolean =>
  step.kind === 'no connection' || (step.kind === 'connection' && waited(step) >= LONG_WAIT_MS);

function waitOf({ took, error, pool }: Step): string {
  const of = pool === undefined ? '' : ` of ${pool}`;
  return error === undefined
    ? `Waited ${ms(took)} for a connection${of}`
    : `Got no connection${of} after ${ms(took)} (${error})`;
}

/** All of them are one trouble, which follows from second connections where their holders wait for those. */
function shortages({ steps, milliseconds = Infinity }: RequestDetails): Evidence[] {
  const begins = of(steps, 'begin');
  return steps.filter(isWait).flatMap((step) => {
    const { at, took, doing, heldAt, heldBy, where, shares, pool } = step;
    const isOpen = ({ at: from, span }: Step): boolean =>
      from <= at && !steps.some((one) => ENDS.has(one.kind) && one.span === span && one.at < ends(step) - 1);
    if (at > milliseconds || begins.some(isOpen)) return [];
    const cause = doing === undefined ? waitOf(step) : `${waitOf(step)}; ${doing}`;
    const fix = doing !== undefined && heldBy === undefined ? BUSY_POOL : undefined;
    const into = [`leak ${heldAt}`, `second connection ${heldBy ?? shares?.[0]?.name}`, `pool ${pool ?? ''}`];
    return [{ cause, where: heldAt ?? where, about: heldBy, fix, lost: took, into, shares, pool, step }];
  });
}

const OUTLIVES = 'This was written outside of a transaction that was rolled back: what it wrote stays';
const callOutlives = ({ method, host }: Step): string =>
  `The call ${method} ${host} succeeded within a transaction that was rolled back: what it did stays`;
const AFTER_COMMIT =
  'Call it in afterCommit(), or by an outbox, after the last check; where it is meant to stay, nothing is wrong.';
const READS = /^(?:GET|HEAD|OPTIONS)$/;
const WRITES = /^(?:INSERT|UPDATE|DELETE|MERGE|REPLACE|WITH\b.*\b(?:INSERT|UPDATE|DELETE))\b/i;

/** A response of 4xx is a decision to refuse: what was committed before it is maybe half of the work. */
function errorsCommitted({ steps, method, status = 0 }: RequestDetails): Evidence[] {
  // Work may commit in parts.
  if (status < 400 || isWork({ method })) return [];
  const committed = new Set(of(steps, 'commit').map(({ span }) => span));
  const last = of(steps, 'statement').findLast(
    ({ span, sql = '', where, outside, error }) =>
      where !== undefined && error === undefined && outside !== true && committed.has(span) && WRITES.test(sql),
  );
  if (last === undefined) return [];
  return [{ ...evidence(last, `Responded ${status}, and committed: what was written before stays`), fails: true }];
}

const hasFailed = ({ error, status = 0 }: Step): boolean => error !== undefined || status >= 500;

const isSame = (one: Step, other: Step): boolean =>
  one.host === other.host && one.method === other.method && one.where === other.where && one.sql === other.sql;

function hiddenFailures(request: RequestDetails): Evidence[] {
  const { steps, status = 500, milliseconds = 0 } = request;
  const done = isWork(request) ? 'Was done' : `Responded ${status}`;
  if (status >= 500) return [];
  const sent = steps.filter(({ kind, at }) => (kind === 'call' || kind === 'statement') && at <= milliseconds);
  return sent.flatMap((step, i): Evidence[] => {
    const { kind, host, method = '', sql = '', error = '', status: its = 0 } = step;
    // Nobody sees a status that a delivery does not look at.
    const isRefused = isWork(request) && its >= 400 && method !== 'GET';
    const isRepeated = sent.slice(i + 1).some((later) => isSame(step, later));
    if (!(hasFailed(step) || isRefused) || isRepeated || CANCELLED.test(error)) return [];
    if (kind === 'call') {
      const cause = `${done} although its call ${method} ${host} failed with ${its || error}`;
      const fix = isRefusal(request) ? AT_FAULT : undefined;
      return [{ cause, where: step.where, about: host, fix, fails: method !== 'GET', step }];
    }
    if (kindOf(error) !== 'failed statement' || isRefusal(request)) return [];
    const found = evidence(step, `${done} although the database refused a statement: ${error}`);
    return [{ ...found, fails: WRITES.test(sql) }];
  });
}

const AT_FAULT = 'Respond 502 or 503: a status of 4xx says that the client is at fault, which is not to try again.';

/** Nobody knows whether the other server has done it. */
function repeatedCalls({ steps }: RequestDetails): Evidence[] {
  const calls = of(steps, 'call').filter(({ method = 'GET' }) => !/^(?:GET|HEAD|OPTIONS|PUT|DELETE)$/.test(method));
  return calls.flatMap((step, i): Evidence[] => {
    const { host, method, error, where } = step;
    if (error === undefined || !calls.slice(i + 1).some((later) => isSame(step, later))) return [];
    const cause = `The call ${method} ${host} failed with ${error} and was sent again: the server may have done it twice`;
    return [{ cause, where, about: host, fails: true, step }];
  });
}

/** Statements with one text, and calls to one server from one line, before the response; not those that are retried. */
function alike({ steps, dropped, milliseconds = Infinity }: RequestDetails): Evidence[] {
  const undone = new Set(of(steps, 'rollback').map(({ span }) => span));
  const sent = steps.filter(({ kind, at }) => (kind === 'statement' || kind === 'call') && at <= milliseconds);
  const groups = groupedBy(sent, ({ kind, span, sql, host, where }) =>
    // Each attempt of a transaction sends the same.
    kind === 'call' ? `${host} ${where}` : undone.has(span) ? `${span} ${sql}` : `${sql}`,
  );
  return groups.flatMap((same): Evidence[] => {
    const isPaged = same.reduce((sum, { rows = 0 }) => sum + rows, 0) >= PAGE * same.length;
    // A call that is tried again until it succeeds.
    const isRetried = same[0].kind === 'call' && same.slice(0, -1).every(hasFailed);
    if (same.length < MOST_ALIKE || isPaged || isRetried) return [];
    const lines = groupedBy(same, ({ where = '' }) => where);
    const [[step] = []] = lines.toSorted((one, other) => other.length - one.length);
    const { kind, sql, host, where } = step ?? {};
    const times = `${dropped > 0 ? 'at least ' : ''}${same.length} times`;
    if (kind === 'call') {
      const all = Math.max(...same.map(ends)) - Math.min(...same.map(({ at }) => at));
      const refused = same.filter(({ status = 0 }) => status >= 400);
      const replies = refused.length === 0 ? '' : `; ${refused.length} of them got ${refused[0]?.status}`;
      const atOnce = Math.max(...same.map((one) => same.filter(({ at }) => at >= one.at && at < ends(one)).length));
      if (atOnce >= MANY_AT_ONCE) {
        const fix = 'Send a few at a time: the other server, or its limit, refuses or delays so many.';
        return [{ cause: `One request sent ${host} ${atOnce} calls at once${replies}`, where, about: host, fix, step }];
      }
      const cause = `One request called ${host} ${times}, for ${ms(all)} in all${replies}`;
      const fix = atOnce > 1 ? 'Ask once for all.' : 'Ask once for all, or for several at once.';
      return [{ cause, where, about: host, fix, lost: all, step }];
    }
    const lost = same.reduce((sum, { took = 0 }) => sum + took, 0);
    const fix = ALIKE_FIX.find(([verb]) => verb.test(sql ?? ''))?.[1];
    // One loop sends all of them.
    const [first] = groups.find((other) => other.length === same.length) ?? [];
    const into = first === same[0] || first?.where === undefined ? [] : [`N+1 ${first.where}`];
    return [{ cause: `One request sent the statement ${times}`, sql, where, lost, fix, into, step }];
  });
}

const ends = ({ at, took = 0 }: Step): number => at + took;
const MANY_AT_ONCE = 20;
const ALIKE_FIX: readonly (readonly [RegExp, string])[] = [
  [/^INSERT\b/i, 'Write all rows with one INSERT, which takes several.'],
  [/^(?:UPDATE|DELETE)\b/i, 'Change all rows with one statement: `WHERE id = ANY ($1)`.'],
];

export function groupedBy<T>(items: readonly T[], nameOf: (item: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(nameOf(item));
    if (group) group.push(item);
    else groups.set(nameOf(item), [item]);
  }
  return [...groups.values()];
}

const AROUND = 'Do it before BEGIN or after COMMIT.';
const ON_CONNECTION = 'Resolve the service from the scope of the transaction, and inject IConnection.';
/** The cause of each finding of the transaction check, and the trouble by which the steps show more of it; its message may name a requested path. */
const FINDINGS: Readonly<Record<string, readonly [cause: string, shownAs?: TroubleKind, fix?: string]>> = {
  'outside-statement': [
    'A statement was sent outside of the open transaction, so a rollback does not undo it',
    'survived rollback',
    ON_CONNECTION,
  ],
  'second-connection': ['A second connection was asked for while a transaction held one', 'second connection'],
  'http-request': [
    'Another server was asked while a transaction was open, which kept its locks',
    'idle transaction',
    AROUND,
  ],
  'connection-write': ['Another server got data while a transaction was open, which a rollback does not undo'],
  'file-write': ['A file was written while a transaction was open, which a rollback does not undo'],
  'child-process': ['A process was started while a transaction was open, which a rollback does not undo'],
  gap: ['A transaction was open for long without a statement, and kept its locks', 'idle transaction', AROUND],
  'too-many-statements': ['A request sent more statements than its budget', 'N+1'],
  'error-committed': ['What was written was committed, though the response refuses the work', 'error committed'],
  'error-rolled-back': ['What was written was rolled back, maybe the count of an attempt, as the response refuses'],
};

function findings({ steps }: RequestDetails): Evidence[] {
  // The steps say better which statement is an N+1, and which is a page of a list.
  const all = of(steps, 'finding').filter(({ found }) => found !== 'repeated-statement');
  return all.map((step) => {
    const { found = '', key } = step;
    const [cause = `The transaction check found ${found}`, , fix] = FINDINGS[found] ?? [];
    return { ...evidence(step, key === undefined ? cause : `${cause}: in ${key}`), about: found, fix };
  });
}

const ENDS: ReadonlySet<Step['kind']> = new Set(['commit', 'rollback', 'commit unknown'] as const);

/**
 * Between two of its statements, or between the last one and its end, a transaction waits for something else.
 *
 * @param forSecond - that is a second connection, and what is sent on it
 */
function idlesOf({ steps }: RequestDetails, forSecond: boolean): Evidence[] {
  const found: Evidence[] = [];
  const late = of(steps, 'responded')[0]?.late ?? 0;
  /** Each open transaction by its scope, with the end of its last statement, and that. */
  const open = new Map<number | undefined, { readonly since: number; readonly last: Step }>();
  for (const step of steps) {
    const { kind, at, span, took = 0 } = step;
    const idle = open.get(span);
    const isOfIt = kind === 'statement' ? step.outside !== true : ENDS.has(kind);
    if (idle && isOfIt) {
      const { since, last } = idle;
      const lost = at - since;
      const meanwhile = steps.filter((one) => one.at >= since - 1 && one.at < at);
      const call = of(meanwhile, 'call').find((one) => waited(one) >= lost / 2);
      const wait = meanwhile.find(isWait);
      const others = meanwhile.filter(({ outside }) => outside === true);
      const inOthers = others.reduce((sum, one) => sum + waited(one), 0);
      const isOfSecond = wait !== undefined || inOthers >= lost / 2;
      // The process may have been busy, where nothing says why.
      const isLong = wait !== undefined || lost >= (call ? CALL_IN_TRANSACTION_MS : IDLE_MS);
      // The time was lost after its last statement and before this one.
      const shown = [...(isOfSecond ? [wait, ...others] : [call]), last, step].find((one) => one?.where !== undefined);
      const why = wait ? `: ${waitOf(wait)}` : '';
      const cause = isOfSecond
        ? `A second connection is taken inside of a transaction that holds one${why}, and kept its own for ${ms(lost)}`
        : `A transaction was open for ${ms(lost)} without a statement${call ? `; meanwhile it waited for ${call.host}` : ''}`;
      // Before BEGIN nothing undoes it.
      const fix = !isOfSecond && call && !READS.test(call.method ?? 'GET') ? AFTER_COMMIT : undefined;
      const into = !isOfSecond && late >= lost / 2 ? ['blocked loop'] : [];
      if (isLong && isOfSecond === forSecond)
        found.push({ cause, where: shown?.where, lost, fix, into, step: wait ?? shown });
    }
    if (kind === 'begin' || (isOfIt && idle)) open.set(span, { since: at + took, last: step });
    if (ENDS.has(kind)) open.delete(span);
  }
  return found;
}

/** A scope that is still open, or was closed long after the response of its request. */
export function leakOf({ box, where }: Pick<Step, 'box' | 'where'>, { limitMs }: Limits, after?: string): Evidence {
  const since = after ?? 'after its request was complete';
  const cause = `A scope (${box}) is open for more than ${limitMs / 1000} s ${since}`;
  return { cause, where, about: box };
}

function aborted(request: RequestDetails): Evidence[] {
  const { steps, milliseconds, method, route, state } = request;
  if (state !== 'aborted' || isCutOff(request)) return [];
  const end = steps.findIndex(({ kind }) => kind === 'aborted');
  const { kind, doing, sql, where } = steps.slice(0, end + 1).findLast((step) => step.where !== undefined) ?? {};
  const what = `The client disconnected after ${ms(milliseconds)}, before it had the whole response`;
  const cause = doing === undefined ? what : `${what}: ${doing}`;
  const into = [`slow call ${where}`, `never stopped ${method} ${route}`];
  const fix = of(steps, 'aborted')[0]?.host === undefined ? undefined : RULES['slow call'].fix;
  const its = kind === 'aborted' ? undefined : sql;
  return [{ cause, where, sql: its, fix, into, lost: milliseconds, step: steps[end] }];
}

/** Said only where nothing else explains it. */
function slow({ milliseconds = 0, steps: all, method, route, state }: RequestDetails, { slowMs }: Limits): Evidence[] {
  if (state === 'aborted' || milliseconds < slowMs) return [];
  const steps = all.filter(({ kind }) => kind !== 'scope');
  const [longest] = steps.toSorted((one, other) => (other.took ?? 0) - (one.took ?? 0));
  const disposal = `failed disposal ${method} ${route}`;
  const late = Math.max(of(steps, 'responded')[0]?.late ?? 0, longest?.late ?? 0);
  const { took = 0, late: itsLate = 0, kind, key, sql } = longest ?? {};
  const found = (cause: string, step: Step | undefined, more: Partial<Evidence> = {}): Evidence[] => {
    const facts = { where: step?.where, lost: milliseconds, into: [disposal], step, ...more };
    return [{ cause: `Took ${ms(milliseconds)}, ${cause}`, ...facts }];
  };
  // A driver that is synchronous keeps the process for as long as its statement takes.
  const isOwn = kind === 'statement' && took >= milliseconds / 2 && itsLate < took / 2;
  if (late >= milliseconds / 2 && !isOwn) {
    const cause = `for ${ms(late)} of which this process computed, for this request or another, or had no processor`;
    const fix = 'Look for the card of a blocked loop; where there is none, the machine was busy.';
    return found(cause, undefined, { about: 'late', fix, into: ['blocked loop', disposal] });
  }
  const gap = longestGap(steps, milliseconds);
  if (took >= gap.took) {
    const what =
      kind === 'created' ? `creating ${key}` : kind === 'connection' ? 'one wait for a connection' : `one ${kind}`;
    const at = longest?.where;
    // The other half of a deadlock waited for it.
    const into = [`deadlock ${at}`, `conflict ${at}`, disposal];
    const about = at === undefined ? `${route} ${what}` : undefined;
    const fix = kind === 'call' ? RULES['slow call'].fix : undefined;
    return found(`of which ${ms(took)} in ${what}`, longest, { sql, about, fix, into });
  }
  const isKnown = gap.after?.where !== undefined;
  const after = isKnown ? 'after this line' : 'before the first line that is known';
  const cause = `${ms(gap.took)} of it passed ${after}, without a statement, call or wait`;
  const fix = `Look at what the code does ${isKnown ? 'after the line' : 'before that'}: it waits or computes there.`;
  return found(cause, gap.after, { fix });
}

/** The longest time in which nothing was recorded, and the last step before it of which the line is known. */
function longestGap(steps: readonly Step[], milliseconds: number): { took: number; after: Step | undefined } {
  let found: { took: number; after: Step | undefined } = { took: 0, after: undefined };
  let [end, known]: [number, Step | undefined] = [0, undefined];
  const before = steps.filter((step) => step.at <= milliseconds);
  for (const step of [...before, { kind: 'responded', at: milliseconds } as const]) {
    const { at, took = 0, where }: Step = step;
    if (at - end > found.took) found = { took: at - end, after: known };
    end = Math.max(end, at + took);
    if (where !== undefined) known = step;
  }
  return found;
}

/** The time of a step, without that in which this process could not have noticed its end. */
const waited = ({ took = 0, late = 0 }: Step): number => took - late;

const of = (steps: readonly Step[], kind: Step['kind']): Step[] => steps.filter((step) => step.kind === kind);

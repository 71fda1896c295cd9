import { ms } from './names.js';
import type { Cause, RequestDetails, Step, Trouble } from './wire.js';

/** One occurrence of a trouble. Occurrences of the same kind, place, statement and error have one cause. */
export interface Evidence {
  /** One sentence: what happened, and why, without values of the application. */
  readonly cause: string;
  /** The line of code to look at. */
  readonly where?: string | undefined;
  readonly sql?: string | undefined;
  readonly error?: string | undefined;
  /** What tells it from others of its kind, where place, statement and error do not. */
  readonly about?: string | undefined;
  /** What to do about it, where it is known better than of its kind. */
  readonly fix?: string | undefined;
  /** Without a line: the service whose definition is the line. */
  readonly service?: string | undefined;
  /** The step of the request that shows it. */
  readonly step?: Step | undefined;
}

export interface Sign extends Evidence {
  readonly id: string;
  readonly kind: TroubleKind;
}

export interface Limits {
  /** A request that takes longer is slow. */
  readonly slowMs: number;
  /** A scope that is open for longer is a leak, once its request is complete. */
  readonly limitMs: number;
}

interface Rule {
  /** The fix, where the evidence has none of its own. */
  readonly fix: string;
  /** Looks for it in a request that is complete. */
  readonly find?: (request: RequestDetails, limits: Limits) => readonly Evidence[];
}

const EARLIER = 'do the other work before BEGIN or after COMMIT.';
const ONE_STATEMENT = 'Read all rows with one statement: a join, or `= ANY ($1)`.';

/** Each kind of trouble, the causes before what follows from them. */
const RULES = {
  'failed service': {
    fix: 'The service at the end of the path threw, or is not registered: correct its constructor or its registration.',
    find: failedServices,
  },
  'after commit': {
    fix: 'The connection was used after the transaction had finished: await the statement before the handler responds.',
    find: (request) =>
      failedAs('after commit', request).map((step) =>
        evidence(step, 'A statement was sent after its transaction had finished'),
      ),
  },
  deadlock: {
    fix: 'Lock rows in one order everywhere, such as that of their keys; runInTransaction() retries what remains.',
    find: conflicts,
  },
  lock: {
    fix: 'Keep the transaction that holds the lock short: no calls to other services in it.',
    find: (request) =>
      failedAs('lock', request).map((step) => evidence(step, `No lock after ${ms(step.took)} of waiting`)),
  },
  'failed statement': {
    fix: 'Read the SQLSTATE: the statement, its values or the schema is wrong.',
    find: failedStatements,
  },
  'failed commit': {
    fix: 'The database refused COMMIT and stored nothing: a deferred constraint.',
    find: (request) =>
      isRefusal(request)
        ? []
        : refusedCommits(request)
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
  pool: {
    fix: 'Keep connections for a shorter time, where the line says; a larger pool helps only where the database has cores to spare.',
    find: shortages,
  },
  'N+1': { fix: ONE_STATEMENT, find: alike },
  finding: { fix: 'The guide of the transaction check has a section on it.', find: findings },
  'idle transaction': { fix: `It kept its connection and its locks meanwhile: ${EARLIER}`, find: idleTransactions },
  'slow call': {
    fix: 'Give the call a time limit, or do it after the response, with an outbox.',
    find: ({ steps }) =>
      of(steps, 'call')
        .filter((step) => waited(step) >= LONG_CALL_MS)
        .map((step) => {
          const { host = '', took, error } = step;
          const end = error === undefined ? '' : ` and failed with ${error}`;
          return { cause: `A call to ${host} took ${ms(took)}${end}`, where: step.where, about: host, step };
        }),
  },
  leak: {
    fix: 'Dispose the scope in `finally`, or open it with inScope().',
    find: ({ steps }, limits) =>
      of(steps, 'scope')
        .filter(({ where }) => where !== undefined)
        .map((step) => ({ ...leakOf(step.box, step.where, limits), step })),
  },
  aborted: {
    fix: 'The client has disconnected. If it did not do so by itself, the request takes longer than its time limit.',
    find: aborted,
  },
  slow: { fix: 'The line says where most of the time went.', find: slow },
  graph: { fix: 'The message says which registration to change.' },
  outbox: { fix: 'Events wait until the receiver takes them: correct the receiver, or what it is sent.' },
  'blocked loop': { fix: 'No other request was served meanwhile: divide the work, or move it to a worker.' },
} satisfies Readonly<Record<string, Rule>>;

/** The README of the inspector lists them. */
export type TroubleKind = keyof typeof RULES;

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

/** The troubles of a request, each cause once. */
export function signsOf(request: RequestDetails, limits: Limits): Sign[] {
  const found = Object.entries<Rule>(RULES).flatMap(([kind, { find = () => [] }]) =>
    find(request, limits).map((one) => signOf({ kind: kind as TroubleKind, ...one })),
  );
  const kinds = new Set<string>(found.map(({ kind }) => kind));
  const causes = found.filter(({ kind, about = '' }) => {
    const shownAs = kind === 'finding' ? FINDINGS[about]?.shownAs : undefined;
    return shownAs === undefined || !kinds.has(shownAs);
  });
  const { milliseconds = 0, statementMs } = request;
  // Findings, leaks, and many statements that are short, explain little of its time.
  const isExplained = causes.some(
    ({ kind, sql }) =>
      !['finding', 'leak', 'slow'].includes(kind) &&
      (kind !== 'N+1' || sql === undefined || statementMs >= milliseconds / 2),
  );
  const shown = causes.filter(({ kind }) => kind !== 'slow' || !isExplained);
  return shown.filter(({ id }, i) => shown.findIndex((one) => one.id === id) === i);
}

/** With an id that is short, and the same for the same cause in each recording, so that a link may name it. */
export function signOf(found: Omit<Sign, 'id'>): Sign {
  const { kind, where = '', sql = '', error = '', about = '' } = found;
  let hash = 0;
  for (const character of [kind, where, sql, error, about].join('\n')) {
    hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return { ...found, id: hash.toString(36) };
}

/** The sign as people and tools read it. @param definition - the line of a service */
export function causeOf(sign: Sign, definition: (service: string) => string | undefined = () => undefined): Cause {
  const { id, kind, cause, sql, error, fix, service } = sign;
  const where = sign.where ?? (service === undefined ? undefined : definition(service));
  const advice = fix ?? FIX_OF_CODE.find(([code]) => code.test(error ?? ''))?.[1] ?? RULES[kind].fix;
  return {
    id,
    kind,
    cause,
    fix: advice,
    ...(where !== undefined && { where }),
    ...(sql !== undefined && { sql }),
    ...(error !== undefined && { error }),
  };
}

const evidence = (step: Step, cause: string): Evidence => {
  const { where, sql, error } = step;
  return { cause, where, sql, error, step };
};

/** A response of 4xx is what the application has decided, whatever led to it. */
const isRefusal = ({ status = 0 }: RequestDetails): boolean => status >= 400 && status < 500;

const isFailure = (request: RequestDetails): boolean =>
  (request.status ?? 0) >= 500 ||
  (!isRefusal(request) && (request.outcome === 'rolled back' || request.outcome === 'unknown'));

/** Of a request that was refused only what no client can be the reason for: a key that cannot be resolved. */
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
  ['deadlock', CONFLICT],
  ['lock', /55P03/],
  ['failed statement', /./],
];

const failedAs = (kind: string, { steps }: RequestDetails): Step[] =>
  of(steps, 'statement').filter(({ error = '' }) => FAILURES.find(([, code]) => code.test(error))?.[0] === kind);

function failedStatements(request: RequestDetails): Evidence[] {
  return failedAs('failed statement', request).flatMap((step) => {
    // It was cancelled because its client disconnected.
    const isCancelled = request.state === 'aborted' && CANCELLED.test(step.error ?? '');
    const isTrouble = isFailure(request) && !isCancelled;
    return isTrouble ? [evidence(step, `The database refused the statement: ${step.error}`)] : [];
  });
}

const refusedCommits = ({ steps }: RequestDetails): Step[] =>
  of(steps, 'rollback').filter(({ error = '' }) => error.includes('AMBIT_TX_COMMIT_FAILED'));

/** The last statement of a transaction, of which the line is known. */
function lastOf({ steps }: RequestDetails, { span, at }: Step): Pick<Step, 'sql' | 'where'> {
  const { where, sql } =
    of(steps, 'statement').findLast((step) => step.where !== undefined && step.span === span && step.at <= at) ?? {};
  return { ...(where !== undefined && { where }), ...(sql !== undefined && { sql }) };
}

/** A statement, or COMMIT, was in the way of another transaction. */
function conflicts(request: RequestDetails): Evidence[] {
  // Nobody waits for the response, but the transaction may still be retried.
  if (request.state === 'aborted' && request.open > 0) return [];
  const commits = refusedCommits(request).filter(({ error = '' }) => CONFLICT.test(error));
  return [
    ...failedAs('deadlock', request).map((step) => evidence(step, conflictOf(request, step))),
    ...commits.map((step) => ({ ...evidence(step, conflictOf(request, step)), ...lastOf(request, step) })),
  ];
}

function conflictOf({ outcome, failedAttempts, status = 0, state }: RequestDetails, { error }: Step): string {
  const isDone = outcome === 'committed' && status < 500 && state === 'responded';
  const rollbacks = `${failedAttempts} ${failedAttempts === 1 ? 'rollback' : 'rollbacks'}`;
  const response = state === 'aborted' ? 'its client had disconnected' : `responded ${status}`;
  const end = isDone ? `committed after ${rollbacks}` : `not retried with success, and ${response}`;
  return `Two transactions were in each other's way (${error}); ${end}`;
}

/** An error that is accounted for by a statement, a service or COMMIT is not counted again. */
function failedHandlers({ status = 0, steps, route }: RequestDetails): Evidence[] {
  const thrown = status < 500 ? undefined : of(steps, 'threw').find(({ known }) => known !== true);
  if (!thrown) return [];
  const about = thrown.where === undefined ? route : undefined;
  return [{ ...evidence(thrown, `The handler failed with ${thrown.error}`), about }];
}

const BUSY_POOL =
  'There are many transactions, and none had its connection for long: look at the load first. A larger pool helps where the database has cores to spare.';

/** One cause for long waits and for waits without result: the request that had a connection for longest. */
function shortages({ steps }: RequestDetails): Evidence[] {
  const waits = steps.filter(
    (step) => step.kind === 'no connection' || (step.kind === 'connection' && waited(step) >= LONG_WAIT_MS),
  );
  return waits.map((step) => {
    const { took, error, doing, heldAt, heldBy, where } = step;
    const wait =
      error === undefined ? `Waited ${ms(took)} for a connection` : `Got no connection after ${ms(took)} (${error})`;
    return {
      cause: doing === undefined ? wait : `${wait}; ${doing}`,
      where: heldAt ?? where,
      about: heldBy,
      fix: doing !== undefined && heldBy === undefined ? BUSY_POOL : undefined,
      step,
    };
  });
}

/** Statements with one text, and calls to one server from one line, before the response. */
function alike({ steps, dropped, milliseconds = Infinity }: RequestDetails): Evidence[] {
  const undone = new Set(of(steps, 'rollback').map(({ span }) => span));
  const sent = steps.filter(({ kind, at }) => (kind === 'statement' || kind === 'call') && at <= milliseconds);
  const groups = groupedBy(sent, ({ kind, span, sql, host, where }) =>
    // Each attempt of a transaction sends the same.
    kind === 'call' ? `${host} ${where}` : undone.has(span) ? `${span} ${sql}` : `${sql}`,
  );
  return groups.flatMap((same): Evidence[] => {
    if (same.length < MOST_ALIKE) return [];
    const [most = [], ...others] = groupedBy(same, ({ where = '' }) => where).toSorted(
      (one, other) => other.length - one.length,
    );
    const [step] = most;
    const { kind, sql, host, where } = step ?? {};
    const times = `${dropped > 0 ? 'at least ' : ''}${same.length} times`;
    if (kind === 'call') {
      const all = same.reduce((sum, { took = 0 }) => sum + took, 0);
      const cause = `One request called ${host} ${times}, for ${ms(all)} in all`;
      return [{ cause, where, about: host, fix: 'Ask once for all, or send the calls at the same time.', step }];
    }
    const from = others.length === 0 ? '' : `, from ${others.length + 1} lines, ${most.length} of them from this one`;
    return [{ cause: `One request sent the statement ${times}${from}`, sql, where, step }];
  });
}

function groupedBy(steps: readonly Step[], nameOf: (step: Step) => string): Step[][] {
  const groups = new Map<string, Step[]>();
  for (const step of steps) {
    const group = groups.get(nameOf(step)) ?? [];
    group.push(step);
    groups.set(nameOf(step), group);
  }
  return [...groups.values()];
}

interface Finding {
  /** The message of the check may name a requested path. */
  readonly cause: string;
  readonly fix: string;
  /** The steps show it as well, with more of it. */
  readonly shownAs?: string;
}

const effect = (what: string): Finding => ({
  cause: `${what} while a transaction was open, which a rollback does not undo`,
  fix: 'Do it in afterCommit(), or write it to an outbox.',
});

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
  'connection-write': effect('Another server got data'),
  'file-write': effect('A file was written'),
  'child-process': effect('A process was started'),
  gap: {
    cause: 'A transaction was open for long without a statement, and kept its connection and its locks',
    fix: `It kept its connection and its locks meanwhile: ${EARLIER}`,
    shownAs: 'idle transaction',
  },
  'repeated-statement': { cause: 'One statement was sent again and again', fix: ONE_STATEMENT, shownAs: 'N+1' },
  'too-many-statements': {
    cause: 'A request sent more statements than its budget',
    fix: ONE_STATEMENT,
    shownAs: 'N+1',
  },
  'error-committed': {
    cause: 'What was written was committed, though the response says that the work was refused',
    fix: 'Throw in place of sending the response, or set rollbackOn.',
  },
  'error-rolled-back': {
    cause: 'What was written was rolled back, maybe the count of an attempt: the response refuses the client',
    fix: 'Send the response in place of throwing, or write outside of the transaction, in unchecked().',
  },
};

function findings({ steps }: RequestDetails): Evidence[] {
  return of(steps, 'finding').map((step) => {
    const { found = '', key } = step;
    const { cause = `The transaction check found ${found}`, fix } = FINDINGS[found] ?? {};
    return { ...evidence(step, key === undefined ? cause : `${cause}: in ${key}`), about: found, fix };
  });
}

const ENDS: ReadonlySet<Step['kind']> = new Set(['commit', 'rollback', 'commit unknown'] as const);

/** Between two of its statements, or between the last one and its end. */
function idleTransactions({ steps }: RequestDetails): Evidence[] {
  const found: Evidence[] = [];
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
      const shown = [call, last, step].find((one) => one?.where !== undefined);
      found.push({ cause, where: shown?.where, step: shown });
    }
    if (kind === 'begin' || (isOfIt && idle)) open.set(span, { since: at + took, last: step });
    if (ENDS.has(kind)) open.delete(span);
  }
  return found;
}

/** A scope that is still open, or was closed long after the response of its request. */
export function leakOf(box: string | undefined, where: string | undefined, { limitMs }: Limits): Evidence {
  const cause = `A scope (${box}) is open for more than ${limitMs / 1000} s after its request was complete`;
  return { cause, where, about: box };
}

function aborted({ steps, milliseconds, route, state }: RequestDetails): Evidence[] {
  if (state !== 'aborted') return [];
  const end = steps.findIndex(({ kind }) => kind === 'aborted');
  const { kind, doing, sql, where } = steps.slice(0, end + 1).findLast((step) => step.where !== undefined) ?? {};
  const before = where === undefined ? '' : '; of what it did then only the line before is known';
  const what = `The client disconnected after ${ms(milliseconds)}, before it had the whole response`;
  const cause = `${what}${doing === undefined ? before : `: ${doing}`}`;
  const about = where === undefined ? route : undefined;
  return [{ cause, where, sql: kind === 'aborted' ? undefined : sql, about, step: steps[end] }];
}

/** Said only where nothing else explains it. */
function slow({ milliseconds = 0, steps: all, route, state }: RequestDetails, { slowMs }: Limits): Evidence[] {
  if (state === 'aborted' || milliseconds < slowMs) return [];
  const steps = all.filter(({ kind }) => kind !== 'scope');
  const [longest] = steps.toSorted((one, other) => (other.took ?? 0) - (one.took ?? 0));
  const { took = 0, late: lateOfIt = 0, kind, key, where: at, sql } = longest ?? {};
  const begin = `Took ${ms(milliseconds)}`;
  if (took >= milliseconds / 2) {
    const what = kind === 'created' ? `creating ${key}` : `one ${kind}`;
    const busy = `; for ${ms(lateOfIt)} of that this process did nothing else, or had no processor`;
    const cause = `${begin}, of which ${ms(took)} in ${what}${lateOfIt >= took / 2 ? busy : ''}`;
    return [{ cause, where: at, sql, about: at === undefined ? `${route} ${what}` : undefined, step: longest }];
  }
  const { late = 0 } = of(steps, 'responded')[0] ?? {};
  if (late >= milliseconds / 2) {
    const cause = `${begin}, for ${ms(late)} of which this process was busy with other things, or had no processor`;
    const fix = 'Look for blocked loops first, then at the load of the machine.';
    return [{ cause, about: `late ${route}`, fix }];
  }
  const gap = longestGap(steps, milliseconds);
  const where = gap.after?.where;
  const after = where === undefined ? 'before the first line that is known' : 'after this line';
  const cause = `${begin}, of which no statement, call or wait explains half; ${ms(gap.took)} of it passed ${after}`;
  const fix =
    'Look at what the code does after the line, or before it where no line is given: it waits or computes there.';
  return [{ cause, where, about: where === undefined ? route : undefined, fix, step: gap.after }];
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

/** The line of the class or factory of a service. */
export type Definition = (key: string) => string | undefined;

interface Group {
  sign: Sign;
  readonly first: number;
  last: number;
  count: number;
  readonly routes: Set<string>;
  /** The newest ones. */
  readonly requests: Set<number>;
}

const MOST_GROUPS = 200;
const MOST_REQUESTS = 5;
const MOST_ROUTES = 8;

/** Everything that went wrong since the recording began, by cause. */
export class Troubles {
  /** In the order in which each occurred last. */
  readonly #groups = new Map<string, Group>();
  readonly #definition: Definition;

  constructor(definition: Definition = () => undefined) {
    this.#definition = definition;
  }

  /** Adds an occurrence. A cause beyond the number that is kept replaces the one that has not occurred for longest. */
  add(sign: Sign, at: number, request?: { readonly id: number; readonly name: string }): void {
    const { id } = sign;
    const group = this.#groups.get(id) ?? {
      sign,
      first: at,
      last: at,
      count: 0,
      routes: new Set(),
      requests: new Set(),
    };
    Object.assign(group, { sign, last: at, count: group.count + 1 });
    if (request) {
      if (group.routes.size < MOST_ROUTES) group.routes.add(request.name);
      newest(group.requests, request.id, MOST_REQUESTS);
    }
    this.#groups.delete(id);
    this.#groups.set(id, group);
    const [oldest = ''] = this.#groups.keys();
    if (this.#groups.size > MOST_GROUPS) this.#groups.delete(oldest);
  }

  has({ id }: Sign): boolean {
    return this.#groups.has(id);
  }

  /** The newest first. */
  all(): Trouble[] {
    return Array.from(this.#groups.values(), ({ sign, count, first, last, routes, requests }) => {
      const times = { count, first, last, routes: [...routes], requests: [...requests] };
      return { ...causeOf(sign, this.#definition), ...times };
    }).toReversed();
  }
}

function newest(ids: Set<number>, id: number, most: number): void {
  ids.delete(id);
  ids.add(id);
  const [oldest = id] = ids;
  if (ids.size > most) ids.delete(oldest);
}

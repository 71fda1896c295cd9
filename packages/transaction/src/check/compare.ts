import type { Lines, Names, RouteRecord, TransactionRecord } from './record.js';

/** One thing that a reviewer of a pull request should know. */
export interface Change {
  readonly route: string;
  /** A note fails nothing. */
  readonly isNote: boolean;
  readonly what: string;
  /** `src/orders.ts:44`; undefined where the suite was not run. */
  readonly at: string | undefined;
}

/** So many of a new statement are taken for a loop over rows. */
const LOOP = 3;
const NOTHING: RouteRecord = { statements: {}, most: 0, held: 0, locks: {}, effects: {} };

/** The changes for the worse from one record to another, by route. */
export function changesBetween(base: TransactionRecord, head: TransactionRecord, lines: Lines = {}): Change[] {
  const changes: Change[] = [];
  for (const [route, now] of Object.entries(head.routes)) {
    const was = base.routes[route];
    const add = (what: string, key: string, isNote = false): void =>
      void changes.push({ route, isNote, what, at: lines[route]?.[key] });
    repeated(was, now, add);
    for (const effect of Object.keys(now.effects)) if (!was?.effects[effect]) add(effectText(effect), effect);
    for (const pair of Object.keys(now.locks)) {
      const others = was?.locks[pair] ? [] : routesWith(head, reversed(pair));
      // The first route has said so where both orders are new.
      const said = others.filter((other) => other < route && !base.routes[other]?.locks[reversed(pair)]);
      if (others.length > said.length)
        add(
          deadlock(
            pair,
            route,
            others.filter((other) => !said.includes(other)),
          ),
          pair,
        );
    }
    for (const [sql, table] of newScans(base, head, route))
      add(`plan without an index: reads all of ${table}, ${short(sql)}`, sql);
  }
  return changes;
}

type Add = (what: string, key: string, isNote?: boolean) => void;

function repeated(was: RouteRecord | undefined, now: RouteRecord, add: Add): void {
  const counts = Object.entries(now.statements).map(([sql, times]) => ({
    sql,
    times,
    before: was?.statements[sql] ?? 0,
  }));
  const worse = counts
    .filter(({ times, before }) => (before === 0 ? times >= LOOP : times >= 2 * before))
    .toSorted((one, other) => other.times - other.before - (one.times - one.before));
  const total = `statements ${was?.most ?? 0} -> ${now.most}`;
  const [first] = worse;
  if (first) {
    const kind = first.times >= LOOP && first.before <= 1 ? 'N+1: ' : '';
    const more = worse.length > 1 ? `, and ${worse.length - 1} more` : '';
    const from = first.before > 0 ? ` (was ${first.before})` : '';
    return add(`${total}   ${kind}${short(first.sql)} x ${first.times}${from}${more}`, first.sql);
  }
  const fresh = counts.find(({ times, before }) => times > before);
  if (was && now.most > was.most && fresh) add(`${total}   ${short(fresh.sql)}`, fresh.sql, true);
  else if (was && now.held > was.held && fresh)
    add(`holds its locks over ${was.held} -> ${now.held} statements`, fresh.sql, true);
}

function reversed(pair: string): string {
  return pair.split(' > ').toReversed().join(' > ');
}

function routesWith({ routes }: TransactionRecord, pair: string): string[] {
  return Object.keys(routes).filter((route) => routes[route]?.locks[pair]);
}

function deadlock(pair: string, route: string, others: readonly string[]): string {
  const [first, second] = pair.split(' > ');
  const [other = ''] = others;
  const who = other === route ? 'it also' : other;
  const more = others.length > 1 ? ` (and ${others.length - 1} more)` : '';
  return `locks ${first}, then ${second}; ${who} locks ${second}, then ${first}${more}: may deadlock`;
}

/** The statements of a route that read a whole table, where they, or those of the base, used an index. */
function newScans(base: TransactionRecord, head: TransactionRecord, route: string): [sql: string, table: string][] {
  if (!base.scans || !head.scans) return [];
  const { statements } = base.routes[route] ?? NOTHING;
  const before = Object.assign({}, ...Object.keys(statements).map((sql) => base.scans?.[sql])) as Names;
  return Object.keys(head.routes[route]?.statements ?? {}).flatMap((sql) => {
    const known = sql in statements;
    // A list of everything needs no index.
    if (!known && !/\b(?:where|join)\b/i.test(sql)) return [];
    const scanned = Object.keys(head.scans?.[sql] ?? {});
    const isNew = (table: string): boolean => !(known ? base.scans?.[sql] : before)?.[table];
    return scanned.filter(isNew).map((table): [string, string] => [sql, table]);
  });
}

const EFFECTS: Readonly<Record<string, (target: string) => string>> = {
  'http-request': (target) => `HTTP request${target} in the open transaction`,
  'connection-write': (target) => `data sent${target && ` to${target}`} in the open transaction`,
  'file-write': (target) => `file written${target && ` by${target}`} in the open transaction`,
  'child-process': () => 'child process started in the open transaction',
  'outside-statement': (sql) => `statement outside of the open transaction:${short(sql)}`,
  'second-connection': () => 'second connection while one is held',
  'error-committed': (status) => `a response of${status} commits`,
  'error-rolled-back': (status) => `a response of${status} rolls back what it wrote`,
};

function effectText(effect: string): string {
  const [kind = ''] = effect.split(' ', 1);
  return EFFECTS[kind]?.(effect.slice(kind.length)) ?? effect;
}

function short(sql: string): string {
  return sql.length > 70 ? `${sql.slice(0, 67)}...` : sql;
}

/** How the changes are printed. */
export type Format = 'text' | 'markdown' | 'github';

/** The changes as a reviewer reads them. */
export function printed(changes: readonly Change[], title: string, format: Format): string {
  const columns = changes.map(
    ({ route, what, at = '', isNote }) => [route, isNote ? `note: ${what}` : what, at] as const,
  );
  if (format === 'markdown') {
    const rows = columns.map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
    return [
      `**${title}**`,
      ...(rows.length > 0 ? ['', '| route | change | line |', '| --- | --- | --- |', ...rows] : []),
    ].join('\n');
  }
  const width = Math.max(0, ...columns.map(([route]) => route.length));
  const lines = columns.map(([route, what, at]) => `  ${route.padEnd(width)}  ${what}${at && `   ${at}`}`);
  return [title, ...lines, ...(format === 'github' ? changes.map(annotation) : [])].join('\n');
}

/** A workflow command of GitHub: https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
function annotation({ route, what, at = '', isNote }: Change): string {
  const [, file, line] = /^(.*):(\d+)$/.exec(at) ?? [];
  const escaped = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string): string => escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  const place = file === undefined ? '' : `file=${property(file)},line=${line},`;
  return `::${isNote ? 'notice' : 'error'} ${place}title=${property(`ambit check, ${route}`)}::${escaped(what)}`;
}

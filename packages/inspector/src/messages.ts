import { readFileSync } from 'node:fs';
import { causesOf } from './names.js';
import type { Where } from './where.js';

/** The lines of a statement that begins where an error was thrown. */
const LINES_AFTER = 6;
const LONGEST = 200;
const LONGEST_MESSAGE = 1000;
const MOST_FILES = 50;

/**
 * The message of an error, as far as it has no values: as the code of its line writes it, with `…` for what it puts in; of an engine's own
 * errors without what they quote of data; of a connection its target; of a database the function that raised it.
 *
 * @param place - the file and line where it was thrown, if that is the application's
 */
export function messageOf(error: unknown, place?: Where['source']): string | undefined {
  try {
    for (const one of causesOf(error)) {
      const first = one instanceof AggregateError ? (one.errors[0] as unknown) : undefined;
      const known = knownOf(one) ?? (first instanceof Error ? knownOf(first) : undefined);
      if (known !== undefined) return known;
    }
    if (!(error instanceof Error) || place === undefined) return undefined;
    if (error.message.length > LONGEST_MESSAGE) return undefined;
    const { lines, literals } = sourceOf(place.path);
    const written = writtenAs(error.message, literals);
    if (written !== undefined || !ENGINE.has(error.constructor)) return written;
    const near = lines.slice(place.line - 1, place.line + LINES_AFTER).join('\n');
    // An engine quotes a name of the code, or a value.
    const isOfCode = (quoted: string): boolean => near.includes(quoted.slice(1, -1));
    return error.message.replaceAll(QUOTED, (quoted) => (isOfCode(quoted) ? quoted : "'…'")).slice(0, LONGEST);
  } catch {
    // An object that an application throws may throw when it is read.
    return undefined;
  }
}

/** The number of MariaDB's error. */
const MAX_STATEMENT_TIME = 1969;
const QUOTED = /'[^']*'|"[^"]*"/g;
const ENGINE: ReadonlySet<unknown> = new Set([TypeError, ReferenceError, RangeError]);

/** Facts that systems put beside their messages, and messages that have a form of their own. */
function knownOf(error: Error): string | undefined {
  const { code, errno, address, port, hostname, where } = error as Error & Partial<Record<string, unknown>>;
  const { message } = error;
  if (error instanceof SyntaxError && / JSON\b/.test(message)) return jsonMessage(message);
  if (typeof code === 'string' && /^E[A-Z]{2,}/.test(code)) {
    const target = typeof address === 'string' ? [address, port].filter(Boolean).join(':') : hostname;
    if (typeof target === 'string') return `${code === 'ENOTFOUND' ? 'there is no host' : 'to'} ${target}`;
  }
  if (errno === MAX_STATEMENT_TIME) return 'due to max_statement_time';
  if (code === '57014') return /due to ([a-z ]+)/.exec(message)?.[0];
  const raised = typeof where === 'string' ? /\bfunction ([\w.]+)\(.*?line (\d+)/.exec(where) : undefined;
  if (raised) return `in function ${raised[1]}(), line ${raised[2]}`;
  // The key of MariaDB, the columns of SQLite.
  return (
    /^Duplicate entry .* for key '([\w.]+)'$/s.exec(message)?.[1] ?? /^\w[\w ]+ failed: [\w., ]+$/.exec(message)?.[0]
  );
}

function jsonMessage(message: string): string {
  if (/end of JSON|Unterminated/.test(message)) return 'the text ends before its JSON does';
  const at = / at position \d+(?: \(line \d+ column \d+\))?/.exec(message)?.[0] ?? '';
  return `the text is no JSON${at}`;
}

interface Source {
  readonly lines: readonly string[];
  /** Its literals, as patterns of the messages that they make, and as they are shown. */
  readonly literals: readonly { readonly makes: RegExp; readonly parts: readonly string[] }[];
}

/** Each file is read once. */
const sources = new Map<string, Source>();

function sourceOf(path: string): Source {
  const known = sources.get(path);
  if (known) return known;
  const text = readFileSync(path, 'utf8');
  const literals = Array.from(text.matchAll(LITERAL), ([, literal = '']) => {
    const parts = literal.slice(1, -1).split(literal.startsWith('`') ? /\$\{[^}]*\}/ : /$^/);
    return { makes: new RegExp(`^${parts.map(escaped).join('(.*)')}$`, 's'), parts };
  });
  const source = {
    lines: text.split('\n'),
    literals: literals.filter(({ parts }) => /\p{L}{3}/u.test(parts.join('…'))),
  };
  if (sources.size >= MOST_FILES) sources.clear();
  sources.set(path, source);
  return source;
}

/** A text that makes an error, maybe behind a status. */
const LITERAL =
  /(?:\bnew [\w$.]+|\bsuper|[\w$]*[Ee]rror)\(\s*(?:[\w$.]+,\s*)?('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)/g;

/** The literal that makes the message; of what it puts in only the status of a response is no value. */
function writtenAs(message: string, literals: Source['literals']): string | undefined {
  const found = literals.find(({ makes }) => makes.test(message));
  const [, ...values] = found?.makes.exec(message) ?? [];
  const shown = values.map((value) => (STATUS.test(value) ? value : '…'));
  return found?.parts
    .map((part, i) => part + (shown[i] ?? ''))
    .join('')
    .slice(0, LONGEST);
}

const STATUS = /^[45]\d\d$/;

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

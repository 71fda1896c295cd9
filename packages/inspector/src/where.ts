import { findSourceMap } from 'node:module';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frameworks and ORMs are deep. */
const DEEPEST = 60;
const FRAME = /^ {4}at (?:(.*?) \((.+):(\d+):(\d+)\)|(?:async )?(.+):(\d+):(\d+))$/;
/** The name of a function, without its class and what else it is called; Node calls one of a timer `_onTimeout` that has none. */
const NAME = /(?!\b_onTimeout)\b[\w$]+(?= \[as |$)/;
const ANY_FRAME = /^ {4}at /;

/** The file of this module. `import.meta` would keep Jest from loading it as CommonJS. */
function ownFile(): string {
  const [, , named = '', , , file = named] = FRAME.exec(framesOf(new Error('of this line'))[0] ?? '') ?? [];
  return pathOf(file);
}

/** The folder of this package. */
export const PACKAGE = dirname(dirname(ownFile()));
/** The folder that has this package and, in a checkout of it, its siblings. */
const PACKAGES = dirname(PACKAGE) + sep;
const OWN_CODE = /^[^\\/]+[\\/](?:src|dist)[\\/]/;
const DEPENDENCY = /[\\/]node_modules[\\/]/;
/** Code without a file: of Node, of `eval()`, and of modules that are data. */
const NO_FILE = /^(?:node|data|blob|wasm|https?):|^eval at |<anonymous>/;

type Below = Parameters<typeof Error.captureStackTrace>[1];

interface Call {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  /** Its function, as a stack calls it. */
  readonly within?: string;
  /** The nearest call in another file: of a helper, who calls it. */
  readonly caller?: Call;
}

/** The nearest line of the application's own code, in the stack of the call that makes this. */
export class Where {
  readonly #call: Call | undefined;

  /** @param below - a function: the stack begins below its call; or an error, for the stack of the call that made it */
  constructor(below: Below | Error = Where) {
    this.#call = callOf(below instanceof Error ? below : stackBelow(below));
  }

  /** The place that an error comes from, if it is one. */
  static of(thrown: unknown): Where | undefined {
    return thrown instanceof Error ? new Where(thrown) : undefined;
  }

  /** The file and line, to read its source. */
  get source(): Pick<Call, 'line' | 'path'> | undefined {
    return this.#call;
  }

  /** The line in another file that led there, such as `src/orders.ts:42:7`. */
  get caller(): string | undefined {
    return this.#call?.caller && textOf(this.#call.caller);
  }

  /** `src/sql.ts:12:7` */
  get line(): string | undefined {
    return this.#call && textOf(this.#call);
  }

  /** True if an error has passed through the function that led here, of a helper through that which called it. */
  isPassedBy(error: Error): boolean {
    const { path, line, within = '' } = this.#call?.caller ?? this.#call ?? {};
    const [name] = NAME.exec(within) ?? [];
    const isSame = (one: Call): boolean =>
      one.line === line || (name !== undefined && NAME.exec(one.within ?? '')?.[0] === name);
    return [...callsOf(error)].some((one) => one.path === path && isSame(one));
  }
}

const LEAST_SAME = 4;
const LOOK_EVERY = 256;
const MOST_KNOWN = 2000;

/** To read a stack costs more than all else: what has always come from one line is looked at again only now and then. */
export class KnownLines {
  /** By group and text; `same` is how often in a row the line was that, -1 forever once it was another. */
  readonly #known = new Map<string, Map<string, { place: Where; same: number; sent: number }>>();
  #size = 0;

  /** The line of the code that calls this, for a route and the text of a statement, or the kind of a scope. */
  of(group: string, text: string, below?: Below): Where {
    const known = this.#known.get(group)?.get(text);
    if (known && known.same >= LEAST_SAME && ++known.sent % LOOK_EVERY !== 0) return known.place;
    const place = new Where(below);
    if (known) {
      const isSame = known.same >= 0 && known.place.line === place.line && known.place.caller === place.caller;
      Object.assign(known, { place, same: isSame ? known.same + 1 : -1 });
      return place;
    }
    if (++this.#size > MOST_KNOWN) {
      this.#known.clear();
      this.#size = 1;
    }
    const texts = this.#known.get(group) ?? new Map<string, { place: Where; same: number; sent: number }>();
    this.#known.set(group, texts.set(text, { place, same: 1, sent: 0 }));
    return place;
  }
}

const MOST_COLUMNS = 2 ** 21;

/**
 * The text of a place: in the source, where Node was started with `--enable-source-maps`, as a bundle has dependencies beside the application's
 * own code; undefined where it is not the application's. Without a column it is the last place in the line, since before the first there are
 * only spaces, which no source map knows.
 */
export function placeOf(file: string, line: number, column = MOST_COLUMNS): string | undefined {
  if (isForeign(file)) return undefined;
  const entry = findSourceMap(file)?.findEntry(line - 1, column - 1);
  if (!entry || !('originalSource' in entry))
    return textOf({ path: pathOf(file), line, column: column === MOST_COLUMNS ? 1 : column });
  const { originalSource, originalLine, originalColumn } = entry;
  if (isForeign(originalSource)) return undefined;
  return textOf({ path: pathOf(originalSource), line: originalLine + 1, column: originalColumn + 1 });
}

function stackBelow(below: Below): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = DEEPEST;
  const holder = new Error();
  Error.captureStackTrace(holder, below);
  Error.stackTraceLimit = stackTraceLimit;
  return holder;
}

function callOf(error: Error): Call | undefined {
  let first: Call | undefined;
  for (const call of callsOf(error)) {
    if (first && call.path !== first.path) return { ...first, caller: copyOf(call) };
    first ??= copyOf(call);
  }
  return first;
}

/** V8 keeps the whole text in memory for a part of it. */
const copyOf = (call: Call): Call => ({ ...call, within: Buffer.from(call.within ?? '').toString() });

/** The application's own. A stack is a text, in which Node has found the sources already. */
function* callsOf(error: Error): Generator<Call> {
  for (const text of framesOf(error)) {
    const [, within = '', named, namedLine, namedColumn, file = named, line = namedLine, column = namedColumn] =
      FRAME.exec(text) ?? [];
    if (file === undefined || isForeign(file)) continue;
    yield { path: pathOf(file), line: Number(line), column: Number(column), within };
  }
}

/** The lines behind the message: that may have lines like those of a stack, which are values. */
function framesOf(error: Error): string[] {
  const { stack = '', message } = error;
  const begin = stack.indexOf(message);
  const lines = stack.slice(begin === -1 ? 0 : begin + message.length).split('\n');
  const last = lines.findLastIndex((line) => ANY_FRAME.test(line));
  const before = lines.slice(0, last).findLastIndex((line) => !ANY_FRAME.test(line));
  return lines.slice(before + 1, last + 1);
}

function isForeign(file: string): boolean {
  if (NO_FILE.test(file) || DEPENDENCY.test(file)) return true;
  const path = pathOf(file);
  return path.startsWith(PACKAGES) && OWN_CODE.test(path.slice(PACKAGES.length));
}

function pathOf(file: string): string {
  if (!file.startsWith('file:')) return file;
  try {
    return fileURLToPath(file);
  } catch {
    return file;
  }
}

const HERE = `${process.cwd()}${sep}`;

/** Below the folder in which the process started as a relative path. */
function textOf({ path, line, column }: Call): string {
  const short = path.startsWith(HERE) ? path.slice(HERE.length).split(sep).join('/') : path;
  return `${short}:${line}:${column}`;
}

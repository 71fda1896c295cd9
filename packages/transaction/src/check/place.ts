import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A line of code. */
export interface Place {
  /** Below the working directory a path relative to it, with `/`; elsewhere an absolute one. */
  readonly file: string;
  /** From 1 on. */
  readonly line: number;
  /** From 1 on. */
  readonly column: number;
}

/** `src/orders.ts:42:7` */
export function textOf({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `fetch()` alone is twenty calls deep. */
const DEEPEST = 60;
const CALL =
  /^\s*at (?:async )?(?:new )?(?:(.*?) \()?(file:\/\/.+?|\/.+?|[A-Za-z]:[\\/].+?)(?:\?[^:]*)?:(\d+):(\d+)\)?$/;
const DEPENDENCY = /[\\/]node_modules[\\/]/;

/** The folder that has this package and, in a checkout of it, its siblings. */
const PACKAGES = fileURLToPath(new URL('../../../', import.meta.url));
const OWN_CODE = /^[^\\/]+[\\/](?:src|dist)[\\/]/;

interface Call {
  /** As the stack has it: `OrderRepository.create`. */
  readonly name: string;
  readonly place: Place;
}

/** Where the calling code is. The text of the stack is computed on demand, because that is the expensive part. */
export class CallStack {
  declare private readonly stack?: unknown;
  #calls: readonly Call[] | undefined;

  constructor() {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = DEEPEST;
    Error.captureStackTrace(this);
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** The nearest line of the application: neither of Node, nor of a dependency, nor of ours. */
  get place(): Place | undefined {
    return this.#applicationCalls[0]?.place;
  }

  /** The names of the functions of the application, the nearest first. */
  get names(): readonly string[] {
    return this.#applicationCalls.map(({ name }) => name);
  }

  /** Node has applied the source maps where it was started with `--enable-source-maps`. */
  get #applicationCalls(): readonly Call[] {
    const { stack } = this;
    this.#calls ??= typeof stack === 'string' ? stack.split('\n').flatMap(applicationCall) : [];
    return this.#calls;
  }
}

function applicationCall(line: string): Call[] {
  const [, name = '', location = '', row, column] = CALL.exec(line) ?? [];
  if (location === '') return [];
  const path = location.startsWith('file:') ? fileURLToPath(location) : location;
  const isOurs = path.startsWith(PACKAGES) && OWN_CODE.test(path.slice(PACKAGES.length));
  if (isOurs || DEPENDENCY.test(path)) return [];
  return [{ name, place: { file: shortened(path), line: Number(row), column: Number(column) } }];
}

function shortened(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith('..') ? path : below.split(sep).join('/');
}

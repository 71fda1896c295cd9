import { findSourceMap } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frameworks and ORMs are deep. */
const DEEPEST = 60;
const LINES = 3;

/** The folder that has this package and, in a checkout of it, its siblings. */
const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));
const OWN_CODE = /^[^\\/]+[\\/](?:src|dist)[\\/]/;
const DEPENDENCY = /[\\/]node_modules[\\/]/;

type Below = Parameters<typeof Error.captureStackTrace>[1];

interface Call {
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** The nearest lines of the application's own code, in the stack of the call that makes this. It keeps no object of that stack. */
export class Where {
  readonly #calls: readonly Call[];

  /** @param below - a function: the stack begins below its call */
  constructor(below: Below = Where) {
    this.#calls = nearest(stackBelow(below));
  }

  /** `place (src/orders.ts:42:7)` */
  lines(): readonly string[] {
    return this.#calls.map((call) => (call.name === '' ? textOf(call) : `${call.name} (${textOf(call)})`));
  }

  /** `src/orders.ts:42:7` */
  get line(): string | undefined {
    const [call] = this.#calls;
    return call && textOf(call);
  }
}

function stackBelow(below: Below): readonly NodeJS.CallSite[] {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = DEEPEST;
  // As objects they need not be written and read as text, which would take ten times as long.
  Error.prepareStackTrace = (_, calls) => calls;
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, below);
  const { stack } = holder;
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  return Array.isArray(stack) ? (stack as NodeJS.CallSite[]) : [];
}

function nearest(stack: readonly NodeJS.CallSite[]): Call[] {
  const own: Call[] = [];
  for (const site of stack) {
    const file = site.getFileName();
    if (typeof file !== 'string' || isForeign(file)) continue;
    const name = site.getFunctionName() ?? '';
    own.push({ name, path: pathOf(file), line: site.getLineNumber() ?? 0, column: site.getColumnNumber() ?? 0 });
    if (own.length === LINES) break;
  }
  return own;
}

function isForeign(file: string): boolean {
  if (file.startsWith('node:') || DEPENDENCY.test(file)) return true;
  const path = pathOf(file);
  return path.startsWith(PACKAGES) && OWN_CODE.test(path.slice(PACKAGES.length));
}

function pathOf(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : file;
}

/** In the source, where Node was started with `--enable-source-maps`; below the working directory as a relative path. */
function textOf({ path, line, column }: Call): string {
  const entry = findSourceMap(path)?.findEntry(line - 1, column - 1);
  const found =
    entry && 'originalSource' in entry
      ? { path: pathOf(entry.originalSource), line: entry.originalLine + 1, column: entry.originalColumn + 1 }
      : { path, line, column };
  const base = `${process.cwd()}${sep}`;
  const short = found.path.startsWith(base) ? found.path.slice(base.length).split(sep).join('/') : found.path;
  return `${short}:${found.line}:${found.column}`;
}

import { Session } from 'node:inspector';
import { findSourceMap } from 'node:module';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frameworks and ORMs are deep. */
const DEEPEST = 60;

/** The file of this module. `import.meta` would keep Jest from loading it as CommonJS. */
function ownFile(): string {
  // oxlint-disable-next-line typescript/unbound-method -- it is put back, not called
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_, [site]) => site?.getFileName();
  const { stack }: { stack?: unknown } = new Error('of this line');
  Error.prepareStackTrace = prepareStackTrace;
  return pathOf(String(stack));
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
}

/** The nearest line of the application's own code, in the stack of the call that makes this. It keeps no object of that stack. */
export class Where {
  readonly #call: Call | undefined;

  /** @param below - a function: the stack begins below its call; or an error, for the stack of the call that made it */
  constructor(below: Below | Error = Where) {
    this.#call = below instanceof Error ? callOf(below) : callBelow(below);
  }

  /** The place that an error comes from, if it is one. */
  static of(thrown: unknown): Where | undefined {
    return thrown instanceof Error ? new Where(thrown) : undefined;
  }

  /** `src/orders.ts:42:7` */
  get line(): string | undefined {
    return this.#call && textOf(this.#call);
  }
}

/** The text of a place: in the source, where Node was started with `--enable-source-maps`; undefined where it is not the application's. */
export function placeOf(file: string, line: number, column: number): string | undefined {
  const call = callAt(file, line, column);
  return call && textOf(call);
}

/** As `placeOf()`, of a line without a column: the last place in it, since before the first there are only spaces, which no source map knows. */
export function placeOfLine(file: string, line: number): string | undefined {
  const call = callAt(file, line, MOST_COLUMNS);
  return call && textOf(call.column === MOST_COLUMNS ? { ...call, column: 1 } : call);
}

/** The nearest call of the application's own code. */
function callBelow(below: Below): Call | undefined {
  const { stackTraceLimit } = Error;
  // oxlint-disable-next-line typescript/unbound-method -- it is put back, not called
  const { prepareStackTrace } = Error;
  Error.stackTraceLimit = DEEPEST;
  // As objects they need not be written and read as text, which would take ten times as long.
  Error.prepareStackTrace = (_, calls) => calls;
  const holder: { stack?: readonly NodeJS.CallSite[] } = {};
  Error.captureStackTrace(holder, below);
  const { stack } = holder;
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  if (!Array.isArray(stack)) return undefined;
  for (const site of stack as NodeJS.CallSite[]) {
    const file = site.getFileName();
    const call = typeof file === 'string' ? knownCallAt(site, file) : undefined;
    if (call) return call;
  }
  return undefined;
}

/** The places of each file that were on a stack: code does not move, and the calls of all records are shared. */
const places = new Map<string, Map<number, Call | undefined>>();
const MOST_PLACES = 20_000;
const MOST_COLUMNS = 2 ** 21;
let known = 0;

function knownCallAt(site: NodeJS.CallSite, file: string): Call | undefined {
  const [line, column] = [site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0];
  const place = line * MOST_COLUMNS + column;
  let inFile = places.get(file);
  if (inFile?.has(place)) return inFile.get(place);
  if (++known > MOST_PLACES) {
    places.clear();
    known = 1;
    inFile = undefined;
  }
  if (!inFile) places.set(file, (inFile = new Map()));
  const call = callAt(file, line, column);
  inFile.set(place, call);
  return call;
}

/** In the source, where Node was started with `--enable-source-maps`: a bundle has dependencies beside the application's own code. */
function callAt(file: string, line: number, column: number): Call | undefined {
  if (isForeign(file)) return undefined;
  const entry = findSourceMap(file)?.findEntry(line - 1, column - 1);
  if (!entry || !('originalSource' in entry)) return { path: pathOf(file), line, column };
  const { originalSource, originalLine, originalColumn } = entry;
  if (isForeign(originalSource)) return undefined;
  return { path: pathOf(originalSource), line: originalLine + 1, column: originalColumn + 1 };
}

const FRAME = /^ {4}at (?:.*? \((.+):(\d+):(\d+)\)|(?:async )?(.+):(\d+):(\d+))$/;
const ANY_FRAME = /^ {4}at /;

/** The stack of an error is a text, in which Node has found the sources already. */
function callOf(error: Error): Call | undefined {
  for (const text of framesOf(error)) {
    const [, named, namedLine, namedColumn, file = named, line = namedLine, column = namedColumn] =
      FRAME.exec(text) ?? [];
    if (file !== undefined && !isForeign(file))
      return { path: pathOf(file), line: Number(line), column: Number(column) };
  }
  return undefined;
}

/** The lines behind the message: that may have lines like those of a stack, which are values. */
function framesOf(error: Error): string[] {
  const { stack, message } = read(error);
  const begin = stack.indexOf(message);
  const lines = stack.slice(begin === -1 ? 0 : begin + message.length).split('\n');
  const last = lines.findLastIndex((line) => ANY_FRAME.test(line));
  const before = lines.slice(0, last).findLastIndex((line) => !ANY_FRAME.test(line));
  return lines.slice(before + 1, last + 1);
}

/** An object that an application throws may throw when it is read. */
function read(error: Error): { stack: string; message: string } {
  try {
    const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown };
    return { stack: typeof stack === 'string' ? stack : '', message: typeof message === 'string' ? message : '' };
  } catch {
    return { stack: '', message: '' };
  }
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

interface Internal {
  readonly name: string;
  readonly value?: {
    readonly value?: { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber: number };
  };
}

/** Functions do not move. Each question to the debugger takes tens of milliseconds. */
const definitions = new WeakMap<object, string | undefined>();
const HANDED_OVER = Symbol.for('ambit.inspector.functions');

/**
 * The places where functions and classes are defined, such as `src/orders.ts:42:7`. V8 knows it, and tells only its debugger, which is asked in this
 * process and for as long as this call takes.
 *
 * @param functions - classes and factories
 * @returns for each its line; undefined where the runtime does not say
 */
export function definitionsOf(functions: readonly (object | undefined)[]): (string | undefined)[] {
  const unknown = functions.filter((one): one is object => one !== undefined && !definitions.has(one));
  for (const [i, place] of askFor(unknown).entries()) definitions.set(unknown[i] as object, place);
  return functions.map((one) => one && definitions.get(one));
}

function askFor(functions: readonly object[]): (string | undefined)[] {
  if (functions.length === 0) return [];
  const session = new Session();
  const urls = new Map<string, string>();
  const holder = globalThis as { [HANDED_OVER]?: readonly unknown[] | undefined };
  try {
    session.connect();
    session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url));
    session.post('Debugger.enable');
    holder[HANDED_OVER] = functions;
    return functions.map((_, i) => definitionOf(session, i, urls));
  } catch {
    return functions.map(() => undefined);
  } finally {
    holder[HANDED_OVER] = undefined;
    session.disconnect();
  }
}

function definitionOf(session: Session, index: number, urls: ReadonlyMap<string, string>): string | undefined {
  const expression = `globalThis[Symbol.for(${JSON.stringify(HANDED_OVER.description)})][${index}]`;
  let found: string | undefined;
  session.post('Runtime.evaluate', { expression }, (_failure, { result }) => {
    if (result.type !== 'function' || result.objectId === undefined) return;
    session.post('Runtime.getProperties', { objectId: result.objectId }, (_, { internalProperties = [] }) => {
      const { value } =
        (internalProperties as Internal[]).find(({ name }) => name === '[[FunctionLocation]]')?.value ?? {};
      const url = value && urls.get(value.scriptId);
      if (value && url) found = placeOf(url, value.lineNumber + 1, value.columnNumber + 1);
    });
  });
  return found;
}

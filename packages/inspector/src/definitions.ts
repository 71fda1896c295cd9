import { Session } from 'node:inspector';
import { placeOf } from './where.js';

interface Internal {
  readonly name: string;
  readonly value?: {
    readonly value?: { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber: number };
  };
}

/** Functions do not move. Each question to the debugger takes tens of milliseconds. */
const known = new WeakMap<object, string | undefined>();
const HANDED_OVER = Symbol.for('ambit.inspector.functions');

/**
 * Where functions and classes are defined, such as `src/orders.ts:42:7`. V8 knows it, and tells only its debugger, which is asked in this
 * process and for as long as this call takes.
 *
 * @param functions - classes and factories
 * @returns for each its line; undefined where the runtime does not say
 */
export function definitionsOf(functions: readonly (object | undefined)[]): (string | undefined)[] {
  const unknown = functions.filter((one): one is object => one !== undefined && !known.has(one));
  for (const [i, place] of askFor(unknown).entries()) known.set(unknown[i] as object, place);
  return functions.map((one) => one && known.get(one));
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

import { type Debugger, type Runtime, Session } from 'node:inspector';
import { placeOf } from './where.js';

// V8 tells its inspector what no other code may read: where functions are defined, and the private fields of objects.

/** Functions do not move. Each question to the debugger takes tens of milliseconds. */
const definitions = new WeakMap<object, string | undefined>();
const HANDED_OVER = Symbol.for('ambit.inspector.objects');

/**
 * The places where functions and classes are defined, such as `src/orders.ts:42:7`. V8 tells only its debugger, which is asked in this
 * process and for as long as this call takes.
 *
 * @param functions - classes and factories
 * @returns for each its line; undefined where the runtime does not say
 */
export function definitionsOf(functions: readonly (object | undefined)[]): (string | undefined)[] {
  const unknown = functions.filter((one): one is object => one !== undefined && !definitions.has(one));
  const urls = new Map<string, string>();
  const places = askAbout(unknown, (session) => {
    session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url));
    session.post('Debugger.enable');
    return (_, { internalProperties = [] }) => {
      const location = internalProperties.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value as unknown;
      const { scriptId = '', lineNumber = 0, columnNumber = 0 } = (location ?? {}) as Partial<Debugger.Location>;
      const url = urls.get(scriptId);
      return url === undefined || url === '' ? undefined : placeOf(url, lineNumber + 1, columnNumber + 1);
    };
  });
  for (const [i, place] of places.entries()) definitions.set(unknown[i] as object, place);
  return functions.map((one) => one && definitions.get(one));
}

/** A field with many entries, private ones included; that of an object itself has no name. */
export interface Collection {
  readonly name: string;
  /** `Map(42)` has the type `Map`. */
  readonly type: string;
  readonly size: number;
}

const SIZE = /^([\w$]+)\((\d+)\)$/;

function collectionOf(name: string, { subtype = '', description = '' }: Partial<Own> = {}): Collection[] {
  const [, type = '', size] = SIZE.exec(description) ?? [];
  return /^(?:array|map|set)$/.test(subtype) && size !== undefined ? [{ name, type, size: Number(size) }] : [];
}

/** The maps, sets and arrays that each object has, and their sizes. */
export function collectionsOf(objects: readonly object[]): Collection[][] {
  const found = askAbout(objects, () => (own, { result, privateProperties = [] }) => [
    ...collectionOf('', own),
    ...[...result, ...privateProperties].flatMap(({ name, value }) => collectionOf(name, value)),
  ]);
  return found.map((collections) => collections ?? []);
}

type Own = Runtime.RemoteObject;
type Read<T> = (own: Own, properties: Properties) => T;
type Properties = Runtime.GetPropertiesReturnType & {
  readonly privateProperties?: readonly { readonly name: string; readonly value?: Own }[];
};

function askAbout<T>(objects: readonly object[], prepare: (session: Session) => Read<T>): (T | undefined)[] {
  if (objects.length === 0) return [];
  const session = new Session();
  const holder = globalThis as { [HANDED_OVER]?: readonly object[] | undefined };
  try {
    session.connect();
    const read = prepare(session);
    holder[HANDED_OVER] = objects;
    return objects.map((_, i) => {
      let found: T | undefined;
      const expression = `globalThis[Symbol.for(${JSON.stringify(HANDED_OVER.description)})][${i}]`;
      session.post('Runtime.evaluate', { expression }, (_failure, { result: own }) => {
        const { objectId = '' } = own;
        const asked = { objectId, ownProperties: true };
        session.post('Runtime.getProperties', asked, (_failed, all) => (found = read(own, all as Properties)));
      });
      return found;
    });
  } catch {
    return objects.map(() => undefined);
  } finally {
    holder[HANDED_OVER] = undefined;
    session.disconnect();
  }
}

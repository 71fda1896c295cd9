/** Does a call on the target, once there is one. */
type Call = (target: object) => unknown;
type Send = (call: Call) => Promise<unknown>;
type AnyFunction = (...args: never[]) => unknown;

/**
 * An object that looks like a client of Prisma before there is one: `client.user.findMany()` returns a promise that does the
 * same call on the client when it is awaited, as Prisma's own promises do.
 */
export function clientThat(send: Send, overrides: object): object {
  return new Proxy(overrides, {
    get(_, name) {
      if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name);
      if (!isName(name)) return undefined;
      return name.startsWith('$') ? method(send, (client) => client, name) : model(send, name);
    },
  });
}

function model(send: Send, modelName: string): object {
  const find: Call = (client) => Reflect.get(client, modelName);
  return new Proxy({}, { get: (_, name) => (isName(name) ? method(send, find, name) : undefined) });
}

function method(send: Send, find: Call, name: string): (...args: never[]) => object {
  return (...args) =>
    promiseOf(send, (client) => {
      const owner = find(client) as Record<string, AnyFunction>;
      return owner[name]?.(...args);
    });
}

/** What a call returns. It has relations as methods, too: `client.user.findUnique({ ... }).posts()`. */
function promiseOf(send: Send, call: Call): object {
  let sent: Promise<unknown> | undefined;
  const promise = (): Promise<unknown> => (sent ??= send(call));
  const methods: object = {
    // oxlint-disable-next-line unicorn/no-thenable
    then: (...args: Parameters<Promise<unknown>['then']>) => promise().then(...args),
    catch: (...args: Parameters<Promise<unknown>['catch']>) => promise().catch(...args),
    finally: (...args: Parameters<Promise<unknown>['finally']>) => promise().finally(...args),
    [Symbol.toStringTag]: 'PrismaPromise',
  };
  return new Proxy(methods, {
    get: (_, name) => {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      return isName(name) ? method(send, call, name) : undefined;
    },
  });
}

/** Not a symbol; and a client or a model is no promise. */
function isName(name: PropertyKey): name is string {
  return typeof name === 'string' && name !== 'then';
}

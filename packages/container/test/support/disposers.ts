import { onStart, Registration, singleton, type Container, type IContainer } from '../../src/index.js';

/** Lets everything run that can run now. */
export const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A promise that the test keeps when it likes. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** A singleton that is disposed at once and writes its key into the log. */
export const logged = (log: string[], key: string, ...needs: string[]) =>
  Registration.fromFactory(() => ({ dispose: () => void log.push(key) }), needs).pipe(singleton());

/** A singleton whose disposal takes a while; it writes the start and the end of that into the log. */
export const slow = (log: string[], key: string, while_: () => Promise<void> = turn) =>
  Registration.fromFactory(() => ({
    async [Symbol.asyncDispose]() {
      log.push(`${key} is disposing`);
      await while_();
      log.push(`${key} disposed`);
    },
  })).pipe(singleton());

/** A singleton whose disposer fails with the error. */
export const failing = (error: unknown) =>
  Registration.fromFactory(() => ({
    dispose() {
      throw error;
    },
  })).pipe(singleton());

/** The scope, with an instance of its own made already. */
export function holding(scope: Container, registration: Registration<unknown>): Container {
  const key = Symbol('held');
  scope.addRegistration(registration.to(key)).resolve(key);
  return scope;
}

/** A singleton that writes into the log when it is started and when it was disposed. */
export const started = (log: string[], key: string, ask: (scope: IContainer) => unknown = () => undefined) =>
  Registration.fromFactory((from) => {
    ask(from);
    return { dispose: () => void log.push(`${key} disposed`) };
  }).pipe(
    singleton(),
    onStart(() => log.push(key)),
  );

function throws(error: Error): never {
  throw error;
}

/** The ways in which a function fails, as rows of `it.each`. */
export const FAILING: readonly [how: string, fail: (error: Error) => unknown][] = [
  ['throws', throws],
  ['rejects', async (error) => throws(error)],
];

import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Call = (...args: never[]) => unknown;

/** Called for each random value, with the name of its source and a function that makes one; returns the value to use. */
export type Tap = (source: () => string, make: () => unknown) => unknown;

type Bytes = NodeJS.ArrayBufferView & { readonly byteLength: number };

const copyOf = ({ buffer, byteOffset, byteLength }: Bytes): Buffer =>
  Buffer.from(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength));

/** Puts a tap on what gives random values in this process. The function returned takes it away. */
export function tapChance(tap: Tap): () => void {
  const undo: (() => void)[] = [];
  const replace = (owner: object, name: string, wrap: (real: Call) => Call): void => {
    const methods = owner as Record<string, unknown>;
    const own = Object.getOwnPropertyDescriptor(owner, name);
    const real = methods[name] as Call;
    const wrapped = wrap((...args) => Reflect.apply(real, owner, args) as unknown);
    Object.defineProperty(owner, name, { value: wrapped, configurable: true, enumerable: true, writable: true });
    undo.push(() => (own ? Object.defineProperty(owner, name, own) : Reflect.deleteProperty(owner, name)));
  };
  replace(
    Math,
    'random',
    (real) => () =>
      tap(
        () => 'random',
        () => real(),
      ),
  );
  for (const name of ['randomUUID', 'randomInt', 'randomBytes'])
    replace(crypto, name, (real) => valueOf(name, real, tap));
  replace(globalThis.crypto, 'randomUUID', (real) => valueOf('randomUUID', real, tap));
  replace(crypto, 'randomFillSync', (real) => filled(real, tap));
  // The function of `node:crypto` calls this one.
  replace(globalThis.crypto, 'getRandomValues', (real) => filled(real, tap));
  syncBuiltinESMExports();
  return () => {
    for (const one of undo.toReversed()) one();
    syncBuiltinESMExports();
  };
}

/** With a callback it is called in the next turn. */
function valueOf(name: string, real: Call, tap: Tap): Call {
  return (...args: unknown[]) => {
    const callback = args.at(-1);
    if (typeof callback !== 'function')
      return tap(
        () => `${name}(${sizeIn(args)})`,
        () => real(...(args as never[])),
      );
    const others = args.slice(0, -1) as never[];
    const value = tap(
      () => `${name}(${sizeIn(others)})`,
      () => real(...others),
    );
    process.nextTick(callback, ...([null, value] as never[]));
    return undefined;
  };
}

const sizeIn = (args: readonly unknown[]): string => args.filter((one) => typeof one === 'number').join();

function filled(real: Call, tap: Tap): Call {
  return (...args: unknown[]) => {
    const target = args[0] as Bytes;
    const value = tap(
      () => `fill(${target.byteLength})`,
      () => {
        real(...(args as never[]));
        return copyOf(target);
      },
    ) as Uint8Array;
    new Uint8Array(target.buffer as ArrayBuffer, target.byteOffset, target.byteLength).set(value);
    return target;
  };
}

/** `Date` of this process says another time where `now` gives one. The function returned puts it back. */
export function replaceDate(now: () => number | undefined): () => void {
  const RealDate = globalThis.Date;
  const present = (): number => now() ?? RealDate.now();
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [present()] : args, newTarget) as object,
    apply: () => new RealDate(present()).toString(),
    get: (target, name) => (name === 'now' ? present : (Reflect.get(target, name) as unknown)),
  });
  return () => (globalThis.Date = RealDate);
}

/** The time zone of this process. The function returned puts it back. */
export function replaceTimeZone(timeZone: string): () => void {
  const { TZ: before } = process.env;
  process.env['TZ'] = timeZone;
  return () => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  };
}

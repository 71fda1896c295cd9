// The services that the type tests ask for.
export interface Logger {
  info(line: string): void;
}

export interface Clock {
  now(): Date;
}

export abstract class Store {
  abstract load(id: string): unknown;
  protected readonly rows = new Map<string, unknown>();
}

export class Pool {
  private readonly open = 0;
  query(_sql: string): number {
    return this.open;
  }
}

/** Looks like a pool, but its private member is another. */
export class LookAlike {
  private readonly open = 0;
  query(_sql: string): number {
    return this.open;
  }
}

export interface User {
  readonly name: string;
}

export interface Repository<T> {
  find(id: string): T | undefined;
  add(item: T): void;
}

export const CLOCK: unique symbol = Symbol('clock');

declare module '@ambit/container' {
  interface ServiceMap {
    ILogger: Logger;
    IClock: Clock;
    IStore: Store;
    IPool: Pool;
    IUsers: Repository<User>;
    IPort: string | number;
    ILevel: 'info' | 'warn';
    ICache: Map<string, User> | undefined;
    [CLOCK]: Clock;
  }
}

export class ConsoleLogger implements Logger {
  info(_line: string): void {}
  close(): void {}
}

export class SystemClock implements Clock {
  now(): Date {
    return new Date();
  }
}

/** True for equal types only; `any` equals nothing but itself. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles where the value has exactly that type: `exactly<Logger>()(value)(true)`. */
export const exactly =
  <Wanted>() =>
  <Got>(_value: Got) =>
  (_: Equal<Got, Wanted>): void => {};

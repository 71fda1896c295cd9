import { HttpError } from './errors.js';

/**
 * Refuses what is no number of milliseconds; `Infinity` is no limit, and an option that is not given is no mistake.
 *
 * @param options - the options of the caller
 * @param names - those that are times
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: one of them is no number from 0 on
 *
 * @example
 * ```ts
 * import { checkTimes } from '@ambit/host';
 *
 * function cacheFor({ maxAgeMs = 1000 }: { maxAgeMs?: number }) {
 *   checkTimes({ maxAgeMs }, 'maxAgeMs');
 * }
 * ```
 */
export function checkTimes<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && !(typeof value === 'number' && value >= 0)) {
      throw invalidOption(`${name} must be a number of milliseconds, not ${shown(value)}`);
    }
  }
}

/**
 * Refuses what is no whole number from 1 on; `Infinity` is no limit.
 *
 * @param name - the option
 * @param value - its value
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: it is something else
 *
 * @example
 * ```ts
 * import { checkCount } from '@ambit/host';
 *
 * function limited({ maxRequests = Infinity }: { maxRequests?: number }) {
 *   checkCount('maxRequests', maxRequests);
 * }
 * ```
 */
export function checkCount(name: string, value: number): void {
  if (value >= 1 && (Number.isInteger(value) || value === Infinity)) return;
  throw invalidOption(`${name} must be a whole number from 1 on, not ${String(value)}`);
}

/**
 * Refuses what is no function; an option that is not given is no mistake.
 *
 * @param options - the options of the caller
 * @param names - those that are functions
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: one of them is something else
 *
 * @example
 * ```ts
 * import { checkFunctions } from '@ambit/host';
 *
 * function middleware(options: { onError?: (error: unknown) => void }) {
 *   checkFunctions(options, 'onError');
 * }
 * ```
 */
export function checkFunctions<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'function') {
      throw invalidOption(`${name} must be a function, not ${shown(value)}`);
    }
  }
}

/**
 * Refuses what is no container, such as a missing argument.
 *
 * @param container - what the application passed
 * @param method - the method that is needed of it
 * @param caller - what the message names, such as `middleware()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: it has no such method
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { checkContainer } from '@ambit/host';
 *
 * function middleware(container: IContainer) {
 *   checkContainer(container, 'createScope', 'middleware()');
 * }
 * ```
 */
export function checkContainer(container: object | undefined, method: string, caller: string): void {
  if (typeof (container as Record<string, unknown> | undefined)?.[method] === 'function') return;
  throw invalidOption(
    `${caller} needs the application container, which has a method ${method}(), not ${shown(container)}`,
  );
}

/**
 * Makes the error for an invalid option.
 *
 * @param detail - names the option, and what it accepts
 * @returns the `HttpError` `AMBIT_HTTP_OPTION`, to throw
 *
 * @example
 * ```ts
 * import { invalidOption } from '@ambit/host';
 *
 * function checkMode(mode: string) {
 *   if (mode !== 'strict' && mode !== 'loose') throw invalidOption(`mode must be 'strict' or 'loose', not '${mode}'`);
 * }
 * ```
 */
export function invalidOption(detail: string): HttpError {
  return new HttpError('AMBIT_HTTP_OPTION', detail);
}

/** A value as messages name it: of what holds others, only that. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

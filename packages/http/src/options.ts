import { inspect } from 'node:util';
import { HttpError } from './errors.js';

/** Refuses what is no number of milliseconds; `Infinity` is no limit. */
export function checkTimes<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && !(typeof value === 'number' && value >= 0)) {
      throw invalidOption(`${name} must be a number of milliseconds, not ${inspect(value)}`);
    }
  }
}

/** Refuses what is no whole number from 1 on; `Infinity` is no limit. */
export function checkCount(name: string, value: number): void {
  if (value >= 1 && (Number.isInteger(value) || value === Infinity)) return;
  throw invalidOption(`${name} must be a whole number from 1 on, not ${String(value)}`);
}

export function checkFunctions<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'function') {
      throw invalidOption(`${name} must be a function, not ${inspect(value)}`);
    }
  }
}

export function checkContainer(container: object | undefined, method: string, caller: string): void {
  if (typeof (container as Record<string, unknown> | undefined)?.[method] === 'function') return;
  throw invalidOption(
    `${caller} needs the application container, which has a method ${method}(), not ${inspect(container, { depth: 0 })}`,
  );
}

export function invalidOption(detail: string): HttpError {
  return new HttpError('AMBIT_HTTP_OPTION', detail);
}

import { inspect } from 'node:util';
import { HttpError } from './errors.js';

/** `Infinity` is no limit. */
export function checkTimes<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && !(typeof value === 'number' && value >= 0)) {
      throw invalid(`${name} must be a number of milliseconds, not ${inspect(value)}`);
    }
  }
}

export function checkFunctions<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'function') {
      throw invalid(`${name} must be a function, not ${inspect(value)}`);
    }
  }
}

export function checkContainer(container: object | undefined, method: string, caller: string): void {
  if (typeof (container as Record<string, unknown> | undefined)?.[method] === 'function') return;
  throw invalid(
    `${caller} needs the application container, which has a method ${method}(), not ${inspect(container, { depth: 0 })}`,
  );
}

function invalid(detail: string): HttpError {
  return new HttpError('AMBIT_HTTP_OPTION', detail);
}

import { inspect } from 'node:util';
import type { IContainer } from '@ambit/container';
import { TransactionError } from '../core/errors.js';
import { checkFunction, checkTime } from '../core/options.js';
import type { SandboxOptions } from './options.js';

/** What a request is to the sandboxes: one of Node's, of a framework over it, or of the Fetch API. */
export interface RequestWithHeaders {
  /** As Node has them, or with a method `get()` as the Fetch API has them. */
  readonly headers:
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | { get(name: string): string | null };
}

/** How requests name their sandbox, for how long a sandbox may be idle, and what each has of its own. */
export interface SandboxesOptions<R extends RequestWithHeaders = RequestWithHeaders> extends SandboxOptions {
  /** The header in which a request names its sandbox. Default `x-ambit-sandbox`. */
  readonly header?: string;
  /** After how long without a request a sandbox is rolled back, because its test has crashed. Default 60 s. */
  readonly idleTimeoutMs?: number;
  /** Whether a request must name a sandbox. Default: none must; without the header it uses the application's pool. */
  readonly required?: (request: R) => boolean;
  /**
   * Gives the scope of a new sandbox its own instance of whatever the application keeps in memory for all requests, such as a
   * cache of rows. The sandbox is its `IDatabasePool` already.
   */
  readonly register?: (scope: IContainer) => unknown;
  /** Called when an idle sandbox failed to dispose. Default: a process warning. */
  readonly onError?: (error: TransactionError) => void;
}

export function checkSandboxesOptions(options: SandboxesOptions<never>): void {
  checkTime('idleTimeoutMs', options.idleTimeoutMs);
  for (const name of ['required', 'register', 'onError'] as const) checkFunction(name, options[name]);
  const { header } = options;
  if (header === undefined || (typeof header === 'string' && header !== '')) return;
  throw new TransactionError('AMBIT_TX_OPTION', `header must be the name of a header, not ${inspect(header)}`);
}

export function headerOf({ headers }: RequestWithHeaders, name: string): string | undefined {
  const value = isOfFetch(headers) ? headers.get(name) : headers[name];
  return typeof value === 'object' ? value?.join(', ') : value;
}

function isOfFetch(headers: RequestWithHeaders['headers']): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}

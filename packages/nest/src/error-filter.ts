import { type ServerResponse, STATUS_CODES } from 'node:http';
import { responseTo } from '@ambit/http/host';
import { type ArgumentsHost, Catch, type ExceptionFilter, type HttpServer, Logger } from '@nestjs/common';
import { throwError } from 'rxjs';

/** An error of our packages, also of another copy of them; or the one that a query builder has wrapped, and given our status. */
function oursIn(error: unknown): (Error & { readonly code: string }) | undefined {
  const { code, retryable, cause } = Object(error) as { code?: unknown; retryable?: unknown; cause?: unknown };
  if (String(code).startsWith('AMBIT_')) return error as Error & { readonly code: string };
  return retryable === undefined ? undefined : oursIn(cause);
}

// oxlint-disable-next-line no-extraneous-class -- what `@Catch()` takes
class AmbitError {
  static [Symbol.hasInstance](error: unknown): boolean {
    return oursIn(error) !== undefined;
  }
}

/**
 * Responds to errors of ours where no filter of the application does, with the body of an `HttpException`, and with `Retry-After` where a
 * retry may succeed. The client learns no more than the code of what only the developers can change: messages name keys and methods, and
 * those of query builders have the statement and its values.
 */
export class ErrorFilter implements ExceptionFilter<Error> {
  readonly #logger = new Logger('ExceptionsHandler');
  readonly #adapter: () => HttpServer | undefined;

  constructor(adapter: () => HttpServer | undefined) {
    this.#adapter = adapter;
  }

  catch(error: Error, host: ArgumentsHost): unknown {
    const { status, retryAfter, isExpected } = responseTo(error);
    const ours = oursIn(error);
    const message = isExpected ? ours?.message : `Internal server error [${ours?.code}]`;
    if (!isExpected) this.#logger.error(error);
    else if (status >= 500) this.#logger.warn(message);
    const adapter = this.#adapter();
    if (host.getType() !== 'http' || !adapter) return throwError(() => ({ status: 'error', message }));
    const response = host.getArgByIndex<ServerResponse>(1);
    if (adapter.isHeadersSent(response)) return adapter.end(response);
    const { headers = {} } = error as { readonly headers?: Readonly<Record<string, string>> };
    for (const [name, value] of Object.entries(headers)) adapter.setHeader(response, name, value);
    if (retryAfter !== undefined) adapter.setHeader(response, 'Retry-After', String(retryAfter));
    return adapter.reply(response, { message, error: STATUS_CODES[status], statusCode: status }, status);
  }
}

Catch(AmbitError)(ErrorFilter);

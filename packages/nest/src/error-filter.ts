import { type ServerResponse, STATUS_CODES } from 'node:http';
import { HttpError, responseTo } from '@ambit/http/host';
import { TransactionError } from '@ambit/transaction';
import { type ArgumentsHost, Catch, type ExceptionFilter, type HttpServer, Logger } from '@nestjs/common';
import { throwError } from 'rxjs';

/**
 * Responds to errors of ours where no filter of the application does, with the body of an `HttpException`: 503 with `Retry-After` where a
 * retry may succeed. Unlike those of others, their messages say nothing of the database's.
 */
export class ErrorFilter implements ExceptionFilter<Error> {
  readonly #logger = new Logger('ExceptionsHandler');
  readonly #adapter: () => HttpServer | undefined;

  constructor(adapter: () => HttpServer | undefined) {
    this.#adapter = adapter;
  }

  catch(error: Error, host: ArgumentsHost): unknown {
    const { status, retryAfter, isExpected } = responseTo(error);
    const { message } = error;
    if (!isExpected) this.#logger.error(error);
    const adapter = this.#adapter();
    if (host.getType() !== 'http' || !adapter) return throwError(() => ({ status: 'error', message }));
    const response = host.getArgByIndex<ServerResponse>(1);
    if (adapter.isHeadersSent(response)) return adapter.end(response);
    if (retryAfter !== undefined) adapter.setHeader(response, 'Retry-After', String(retryAfter));
    return adapter.reply(response, { message, error: STATUS_CODES[status], statusCode: status }, status);
  }
}

Catch(HttpError, TransactionError)(ErrorFilter);

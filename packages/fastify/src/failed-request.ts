import { clearRepresentation } from '@ambit/http/host';
import type { FastifyReply } from 'fastify';
import { discard } from './payload.js';

/** How long a success that must not be sent waits for the response of the error handler. */
const ERROR_HANDLER_MS = 1000;

/**
 * A request whose transaction was rolled back has failed. While its error handler works, another branch of the handler
 * may still send a success: that is dropped, and the response of the error handler is sent. Where there is none in time,
 * the error is given to the next error handler.
 */
export class FailedRequest {
  readonly error: Error;
  /** The response that is sent now comes from the error handler, whatever its status is. */
  isHandling = false;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(error: unknown) {
    this.error = error as Error;
  }

  /** For a handler that has set the status of a success before it failed. */
  resetStatus(reply: FastifyReply): void {
    if (reply.statusCode >= 400) return;
    const { statusCode, status } = Object(this.error) as { statusCode?: unknown; status?: unknown };
    const own = [statusCode, status].find((code) => typeof code === 'number' && code >= 400 && code <= 599);
    reply.code((own as number | undefined) ?? 500);
  }

  /** Whether the response is dropped. If so, `done` is called only if no error handler responds. */
  drops(reply: FastifyReply, payload: unknown, done: (error: Error) => void): boolean {
    const status = payload instanceof Response ? payload.status : reply.statusCode;
    if (this.isHandling || status >= 400) {
      clearTimeout(this.#timer);
      return false;
    }
    clearRepresentation(reply);
    discard(payload);
    this.resetStatus(reply);
    this.#timer ??= setTimeout(() => {
      if (!reply.sent && !reply.raw.headersSent && !reply.raw.destroyed) done(this.error);
    }, ERROR_HANDLER_MS);
    return true;
  }
}

import type { TraceIds } from '@ambit/opentelemetry';
import { newId } from './ids.js';
import { isoNow } from './iso-now.js';
import type { ILogger } from './logging/logger.js';

/** Who sends a request, and under which ids it is found in the log. */
export interface IRequestContext {
  readonly requestId: string;
  readonly startTime: Date;
  readonly userId?: string | undefined;
  /** Set where the request is traced. */
  trace?: TraceIds | undefined;
  setUserId(userId: string): void;
}

export class RequestContext implements IRequestContext {
  /** It begins the primary key of `reservations`: random ids would touch another page of its index with each order. */
  readonly requestId = newId();
  readonly startTime = new Date();
  userId: string | undefined = undefined;
  trace: TraceIds | undefined = undefined;

  setUserId(userId: string): void {
    if (this.userId !== undefined) {
      throw new Error(
        'setUserId() was called twice in one request. Call it once, in the `identify` option, before the handler runs',
      );
    }
    this.userId = userId;
  }
}

export interface IAuditLogger {
  log(action: string, data: object): Promise<void>;
}

/** Writes audit records, one for each call, into the log. */
export class AuditLogger implements IAuditLogger {
  readonly #logger: ILogger;
  readonly #context: IRequestContext;

  constructor(logger: ILogger, context: IRequestContext) {
    this.#logger = logger;
    this.#context = context;
  }

  async log(action: string, data: object): Promise<void> {
    const { requestId, userId, trace } = this.#context;
    const timestamp = isoNow();
    const fixed = { type: 'audit', action, timestamp };
    const caller = userId === undefined ? undefined : { userId };
    // The data of `user_created` has the new user's id as userId, which replaces the caller's, but never a fixed field.
    // The fixed fields are first as well, so that they begin the line. Object.assign is several times faster than spreads.
    this.#logger.info(Object.assign({ type: 'audit', action, timestamp, requestId }, caller, trace, data, fixed));
  }
}

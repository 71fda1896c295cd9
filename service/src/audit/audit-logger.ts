import { inject } from '@ambit/container';
import { isoNow } from '../iso-now.js';
import type { ILogger } from '../logging/logger.js';
import type { IRequestContext } from './request-context.js';

export interface IAuditLogger {
  log(action: string, data: object): Promise<void>;
}

export class AuditLogger implements IAuditLogger {
  readonly #logger: ILogger;
  readonly #context: IRequestContext;

  constructor(@inject('ILogger') logger: ILogger, @inject('IRequestContext') context: IRequestContext) {
    this.#logger = logger;
    this.#context = context;
  }

  async log(action: string, data: object): Promise<void> {
    const { requestId, userId, trace } = this.#context;
    const timestamp = isoNow();
    const happened = { type: 'audit', action, timestamp };
    const who = userId === undefined ? undefined : { userId };
    // `user_created` tells the new user's id as userId, so data comes after who asked, but not over what happened.
    // Written out once more, because spreads are many times as slow.
    this.#logger.info(Object.assign({ type: 'audit', action, timestamp, requestId }, who, trace, data, happened));
  }
}

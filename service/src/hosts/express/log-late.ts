import type { Request } from 'express';
import type { ILogger } from '../../logging/logger.js';

/** For what went wrong beside the answer. */
export function logLate(logger: ILogger, msg: string) {
  return (err: unknown, { res }: Request): void =>
    logger.error({ msg, requestId: res?.getHeader('x-request-id'), err });
}

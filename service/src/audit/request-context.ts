import { randomUUID } from 'node:crypto';
import type { TraceIds } from '@ambit/opentelemetry';

export interface IRequestContext {
  readonly requestId: string;
  readonly startTime: Date;
  readonly userId?: string | undefined;
  /** Set where the request is traced. */
  trace?: TraceIds | undefined;
  setUserId(userId: string): void;
}

export class RequestContext implements IRequestContext {
  readonly requestId = randomUUID();
  readonly startTime = new Date();
  userId: string | undefined = undefined;
  trace: TraceIds | undefined = undefined;

  setUserId(userId: string): void {
    if (this.userId !== undefined) {
      throw new Error('setUserId() was called twice in one request: who asks is settled once, before the handler runs');
    }
    this.userId = userId;
  }
}

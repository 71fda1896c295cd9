import type { Response } from 'express';
import type { Answer } from '../../idempotency/once.js';

export function sendAnswer(res: Response, { status, body, replayed }: Answer<unknown>): void {
  if (replayed) res.setHeader('idempotency-replayed', 'true');
  res.status(status).json(body);
}

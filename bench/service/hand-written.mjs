/** Rules for bodies, and the log, of all hand-written contestants. */
import { pino, stdTimeFunctions } from 'pino';

/** Lines are written before the call returns, as in the service. */
export const openLog = () =>
  pino(
    { level: process.env.LOG_LEVEL, base: null, timestamp: stdTimeFunctions.isoTime },
    pino.destination({ dest: 1, sync: true }),
  );

export const logLine = (requestId, method, url, status, ms) => ({
  msg: 'request',
  requestId,
  method,
  path: url.split('?', 1)[0],
  status,
  ms: Math.round(ms * 100) / 100,
});

const text = { type: 'string', pattern: '^[^\\0\\p{Surrogate}]*$' };

export const newUserSchema = {
  type: 'object',
  properties: {
    name: { ...text, minLength: 1, maxLength: 200 },
    email: { type: 'string', maxLength: 320, format: 'email' },
  },
  required: ['name', 'email'],
  additionalProperties: false,
};

export const newOrderSchema = {
  type: 'object',
  properties: {
    items: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: {
        type: 'object',
        properties: {
          productId: { ...text, minLength: 1, maxLength: 200 },
          quantity: { type: 'integer', minimum: 1, maximum: 1_000_000 },
        },
        required: ['productId', 'quantity'],
        additionalProperties: false,
      },
    },
  },
  required: ['items'],
  additionalProperties: false,
};

import { type NewOrder, Refusal } from './order.ts';

/** Checks a body before a transaction begins, so that an invalid request takes no connection. */
export function readOrder(body: unknown): NewOrder {
  const { product, quantity } = (body ?? {}) as Record<string, unknown>;
  if (typeof product !== 'string' || product === '') throw new Refusal(400, 'product must be a text');
  if (typeof quantity !== 'number' || !Number.isInteger(quantity) || quantity < 1)
    throw new Refusal(400, 'quantity must be a whole number from 1');
  return { product, quantity };
}

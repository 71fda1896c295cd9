import type { IContainer } from '@ambit/container';
import { type IdempotentRequest, idempotentRequest, type KeyHeader } from '../idempotency/idempotent-request.js';
import type { ReplayableResponse } from '../idempotency/response-store.js';
import type { NewOrder, Order } from './order.js';

/** The order as an idempotent request, if it has a key. */
export function idempotentOrder(key: KeyHeader, { items }: NewOrder): IdempotentRequest | undefined {
  if (key === undefined) return undefined;
  const input = items.map(({ productId, quantity }) => [productId, quantity]);
  return idempotentRequest(key, 'POST /api/orders', input);
}

/** Called before a connection is acquired, so that a second request under a locked key never needs one. */
export function lockKey(request: IContainer, idempotent: IdempotentRequest | undefined): void {
  if (idempotent) request.resolve('IKeyLock').acquire(idempotent.key);
}

/** Stores the order, its stock and its key in the transaction of the given scope. */
export async function placeOrder(
  transaction: IContainer,
  idempotent: IdempotentRequest | undefined,
  body: NewOrder,
): Promise<ReplayableResponse<Order>> {
  const orders = transaction.resolve('IOrderRepository');
  const inventory = transaction.resolve('IInventoryService');
  const place = async (): Promise<Order> => {
    const order = await orders.create(body);
    await inventory.reserve(order.items);
    return order;
  };
  if (idempotent) return transaction.resolve('IResponseStore').respond(idempotent, 201, place);
  return { status: 201, headers: {}, body: await place(), replayed: false };
}

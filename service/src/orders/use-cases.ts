import type { IContainer } from '@ambit/container';
import { type Answer, once, type Once } from '../idempotency/once.js';
import type { NewOrder, Order } from './order.js';

export function onceForOrder(key: string | undefined, { items }: NewOrder): Once | undefined {
  if (key === undefined) return undefined;
  const input = items.map(({ productId, quantity }) => [productId, quantity]);
  return once(key, 'POST /api/orders', input);
}

/** Before a connection is taken: a second request under a key that is in use has nothing to do with the database. */
export function holdKey(request: IContainer, asked: Once | undefined): void {
  if (asked) request.resolve('IKeyHold').hold(asked.key);
}

/** Within a transaction, whose scope is given: the order, its stock and its key are stored together, or not at all. */
export async function placeOrder(
  transaction: IContainer,
  asked: Once | undefined,
  body: NewOrder,
): Promise<Answer<Order>> {
  const orders = transaction.resolve('IOrderRepository');
  const inventory = transaction.resolve('IInventoryService');
  const place = async (): Promise<Order> => {
    const order = await orders.create(body);
    await inventory.reserve(order.items);
    return order;
  };
  if (asked) return transaction.resolve('IAnswerStore').answer(asked, 201, place);
  return { status: 201, body: await place(), replayed: false };
}

import { type Static, Type } from 'typebox';
import { Id } from '../ids.js';

export const OrderItem = Type.Object({
  productId: Type.String({ minLength: 1, maxLength: 200, format: 'text' }),
  quantity: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});
export type OrderItem = Static<typeof OrderItem>;

const items = Type.Array(OrderItem, { minItems: 1, maxItems: 1000 });

export const NewOrder = Type.Object({ items });
export type NewOrder = Static<typeof NewOrder>;

/** Its items are in the sequence of the request. */
export const Order = Type.Object({ id: Id, items, createdAt: Type.String({ format: 'date-time' }) });
export type Order = Static<typeof Order>;

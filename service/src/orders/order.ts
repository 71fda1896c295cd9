import { type Static, Type } from 'typebox';
import { idOf } from '../ids.js';

export const OrderItem = Type.Object({
  productId: Type.String({
    minLength: 1,
    maxLength: 200,
    format: 'text',
    description: 'The product, as the stock names it. One without a stock level can be ordered freely.',
  }),
  quantity: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'How many pieces.' }),
});
export type OrderItem = Static<typeof OrderItem>;

const items = Type.Array(OrderItem, {
  minItems: 1,
  maxItems: 1000,
  description: 'What is ordered, in the sequence of the request.',
});

export const NewOrder = Type.Object({ items });
export type NewOrder = Static<typeof NewOrder>;

/** Its items are in the sequence of the request. */
export const Order = Type.Object({
  id: idOf('Assigned by the service, a UUID.'),
  items,
  createdAt: Type.String({ format: 'date-time', description: 'When the order was stored, in UTC.' }),
});
export type Order = Static<typeof Order>;

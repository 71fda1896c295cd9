import { describe, expect, it } from 'vitest';
import { RequestOrder } from '../../page/requests/request-data.js';

const orderOf = (...ids: number[]): RequestOrder => {
  const order = new RequestOrder();
  order.reset(ids);
  return order;
};
const listed = (order: RequestOrder) => Array.from({ length: order.length }, (_, position) => order.at(position));

describe('the order of requests', () => {
  it('has the newest first, also if it became known late', () => {
    const order = orderOf(7, 3);
    for (const id of [9, 5, 5, 1]) order.add(id);
    expect(listed(order)).toEqual([9, 7, 5, 3, 1]);
  });

  it('finds the position of a request, or of the next older one', () => {
    const order = orderOf(2, 4, 6);
    expect([6, 5, 4, 2, 1].map((id) => order.positionOf(id))).toEqual([0, 1, 1, 2, 3]);
    expect([4, 5].map((id) => order.has(id))).toEqual([true, false]);
  });

  it('counts those that are newer', () => {
    const order = orderOf(2, 4, 6);
    expect([0, 2, 3, 6, 9].map((id) => order.newerThan(id))).toEqual([3, 2, 2, 0, 0]);
  });

  it('removes only what is there', () => {
    const order = orderOf(2, 4, 6);
    for (const id of [4, 5]) order.remove(id);
    expect(listed(order)).toEqual([6, 2]);
  });
});

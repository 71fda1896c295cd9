import { Registration } from '@ambit/container';
import { expect, test } from 'vitest';
import type { IAuditLogger } from '../src/logging/logger.js';
import type { IInventoryService, IOrderRepository } from '../src/orders/orders.js';
import { onEveryStage } from './support/every-stage.js';

const ASKED = { items: [{ productId: 'apple', quantity: 1 }], note: 'ring twice' };
const CREATED = { id: 'the id', items: [{ productId: 'pear', quantity: 2 }], createdAt: 'now' };

onEveryStage((stage) => {
  test.each([
    ['without a key', {}],
    ['under a key', { 'idempotency-key': 'a-key' }],
  ])('%s an order is created from the body, then its items are reserved, then it is audited', async (_how, headers) => {
    const steps: unknown[] = [];
    const orders: IOrderRepository = {
      create: async (body) => {
        steps.push(['create', body]);
        return CREATED;
      },
    };
    const inventory: IInventoryService = { reserve: async (items) => void steps.push(['reserve', items]) };
    const audit: IAuditLogger = { log: async (action, data) => void steps.push([action, data]) };
    stage.replace(
      Registration.fromValue(orders).to('IOrderRepository'),
      Registration.fromValue(inventory).to('IInventoryService'),
      Registration.fromValue(audit).to('IAuditLogger'),
    );

    expect(await stage.post('/api/orders', ASKED, headers)).toMatchObject({ status: 201, body: CREATED });
    const audited = stage.variant === 'fastify' ? [['order_created', { orderId: CREATED.id }]] : [];
    expect(steps).toEqual([['create', ASKED], ['reserve', CREATED.items], ...audited]);
  });
});

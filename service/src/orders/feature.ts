import { hosts, infrastructure } from '../infrastructure.js';
import { feature, of } from '../lifetimes.js';
import { type IInventoryService, InventoryService } from './inventory-service.js';
import { type IOrderRepository, OrderRepository } from './order-repository.js';

export const orders = feature(
  'orders',
  {
    IOrderRepository: of('transaction', OrderRepository, [
      'IConnection',
      'IRequestContext',
      'ISqlDialect',
    ]).as<IOrderRepository>(),
    IInventoryService: of('transaction', InventoryService, [
      'IConnection',
      'IRequestContext',
      'ISqlDialect',
    ]).as<IInventoryService>(),
  },
  hosts,
  infrastructure,
);

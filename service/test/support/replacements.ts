import { type Binding, hasTag, Registration, scope, singleton } from '@ambit/container';
import type { Queryable } from '../../src/database/engine.js';
import { type NewOrder, OrderRepository } from '../../src/orders/orders.js';
import { type NewUser, UserRepository } from '../../src/users/users.js';

type Deed = (database: Queryable) => unknown;

/** The service's own repository of orders, which also calls `deed` after it has written. */
export function ordersAnd(deed: Deed): Binding {
  return Registration.fromFactory(
    (connection, context, dialect) => {
      const orders = new OrderRepository(connection, context, dialect);
      return {
        create: async (body: NewOrder) => {
          const order = await orders.create(body);
          await deed(connection);
          return order;
        },
      };
    },
    ['IConnection', 'IRequestContext', 'ISqlDialect'],
  )
    .pipe(singleton(), scope(hasTag('transaction')))
    .to('IOrderRepository');
}

/** The same for users, outside a transaction and within one. */
export function usersAnd(deed: Deed): Binding {
  return Registration.fromFactory(
    (queryable, dialect) => {
      const users = new UserRepository(queryable, dialect);
      const store = users.create.bind(users);
      const create = async (data: NewUser) => {
        const user = await store(data);
        await deed(queryable);
        return user;
      };
      return Object.assign(users, { create });
    },
    ['IQueryable', 'ISqlDialect'],
  )
    .pipe(
      singleton(),
      scope(({ hasTag: has }) => has('request') || has('transaction')),
    )
    .to('IUserRepository');
}

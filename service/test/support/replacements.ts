import { type Binding, hasTag, Registration, scope, singleton } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import type { IRequestContext } from '../../src/ids.js';
import type { ISqlDialect, Queryable } from '../../src/database/engine.js';
import { type NewOrder, type Order, OrderRepository } from '../../src/orders/orders.js';
import { type NewUser, type User, UserRepository } from '../../src/users/users.js';

type Deed = (database: Queryable) => unknown;

/** The service's own repository of orders, which also calls `deed` after it has written. */
export function ordersAnd(deed: Deed): Binding {
  class OrdersAnd extends OrderRepository {
    constructor(
      private readonly database: IConnection,
      context: IRequestContext,
      dialect: ISqlDialect,
    ) {
      super(database, context, dialect);
    }

    override async create(body: NewOrder): Promise<Order> {
      const order = await super.create(body);
      await deed(this.database);
      return order;
    }
  }
  return Registration.fromClass(OrdersAnd, ['IConnection', 'IRequestContext', 'ISqlDialect'])
    .pipe(singleton(), scope(hasTag('transaction')))
    .to('IOrderRepository');
}

/** The same for users, outside a transaction and within one. */
export function usersAnd(deed: Deed): Binding {
  class UsersAnd extends UserRepository {
    constructor(
      private readonly queryable: Queryable,
      dialect: ISqlDialect,
    ) {
      super(queryable, dialect);
    }

    override async create(data: NewUser): Promise<User> {
      const user = await super.create(data);
      await deed(this.queryable);
      return user;
    }
  }
  return Registration.fromClass(UsersAnd, ['IQueryable', 'ISqlDialect'])
    .pipe(
      singleton(),
      scope(({ hasTag: has }) => has('request') || has('transaction')),
    )
    .to('IUserRepository');
}

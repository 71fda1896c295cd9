import type { IContainer } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import type { Outbox, Relay } from '@ambit/transaction/outbox';
import type { IRequestContext } from '../audit.js';
import type { ISqlDialect } from '../database/dialect.js';
import { OrderRepository } from '../orders/order-repository.js';
import type { NewOrder, Order } from '../orders/order.js';
import { inRequestTransaction } from '../users/use-cases.js';
import type { NewUser, User } from '../users/user.js';
import { UserRepository } from '../users/user-repository.js';

/** Calls back when the transaction is committed. */
export type AfterCommit = (act: () => void) => void;

/** One per transaction: stores what happened in it, and lets the relay look for it after COMMIT. */
export class TransactionEvents {
  readonly #outbox: Outbox;
  readonly #relay: Relay;
  readonly #connection: IConnection;
  readonly #afterCommit: AfterCommit;
  #isFirst = true;

  constructor(outbox: Outbox, relay: Relay, connection: IConnection, onCommit: AfterCommit) {
    this.#outbox = outbox;
    this.#relay = relay;
    this.#connection = connection;
    this.#afterCommit = onCommit;
  }

  /** The id of what it is about is the key: what happens to one order or user is sent in order. */
  async publish(topic: string, about: { readonly id: string }): Promise<void> {
    await this.#outbox.publish(this.#connection, { topic, key: about.id, payload: about });
    if (this.#isFirst) this.#afterCommit(() => this.#relay.wake());
    this.#isFirst = false;
  }
}

export class PublishingOrderRepository extends OrderRepository {
  readonly #events: TransactionEvents;

  constructor(connection: IConnection, context: IRequestContext, dialect: ISqlDialect, events: TransactionEvents) {
    super(connection, context, dialect);
    this.#events = events;
  }

  override async create(body: NewOrder): Promise<Order> {
    const order = await super.create(body);
    await this.#events.publish('order.created', order);
    return order;
  }
}

export class PublishingUserRepository extends UserRepository {
  readonly #events: TransactionEvents;

  constructor(connection: IConnection, events: TransactionEvents) {
    super(connection);
    this.#events = events;
  }

  override async create(data: NewUser): Promise<User> {
    const user = await super.create(data);
    await this.#events.publish('user.created', user);
    return user;
  }
}

/** Outside of a transaction: a user and its event need one. */
export class TransactionalUserRepository extends UserRepository {
  readonly #request: IContainer;

  constructor(request: IContainer) {
    super(request.resolve('IDatabasePool'));
    this.#request = request;
  }

  override create(data: NewUser): Promise<User> {
    return inRequestTransaction(this.#request, (scope) => scope.resolve('IUserRepository').create(data));
  }
}

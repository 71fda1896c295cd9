import {
  Container,
  hasTag,
  inject,
  MetadataInjector,
  onDispose,
  onStart,
  Registration,
  scope,
  singleton,
} from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';

export interface Order {
  readonly id: number;
  readonly product: string;
}

export class OrderRepository {
  constructor(@inject('IConnection') private readonly connection: IConnection) {}

  async create(product: string): Promise<Order> {
    const [order] = await this.connection.query<Order>(
      'INSERT INTO orders (product) VALUES ($1) RETURNING id, product',
      [product],
    );
    if (!order) throw new Error('nothing was inserted');
    return order;
  }
}

export class OrderList {
  constructor(@inject('IDatabasePool') private readonly pool: IDatabasePool) {}

  all(): Promise<Order[]> {
    return this.pool.query<Order>('SELECT id, product FROM orders ORDER BY id');
  }
}

declare module '@ambit/container' {
  interface ServiceMap {
    IDatabasePool: IDatabasePool;
    IConnection: IConnection;
    IOrderRepository: OrderRepository;
    IOrderList: OrderList;
  }
}

export async function openApplication(): Promise<Container> {
  const pool = Registration.fromFactory((): IDatabasePool => createSqlitePool({ path: ':memory:' })).pipe(
    singleton(),
    onStart(async (database) => {
      await database.query('CREATE TABLE orders (id INTEGER PRIMARY KEY, product TEXT NOT NULL)');
    }),
    onDispose((database) => database.close()),
  );
  const app = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    pool.to('IDatabasePool'),
    Registration.fromClass(OrderList)
      .pipe(singleton(), scope(hasTag('request')))
      .to('IOrderList'),
    Registration.fromClass(OrderRepository)
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IOrderRepository'),
  );
  verify(app, { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] });
  await app.start();
  return app;
}

/** Orders a pen, then a broken thing, then lists what is stored. */
export async function tryOut(port: number): Promise<void> {
  const order = async (product: string): Promise<number> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ product }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const statuses = [await order('pen'), await order('broken')];
  const stored: unknown = await (await fetch(`http://127.0.0.1:${port}/orders`)).json();
  const said = JSON.stringify({ statuses, stored });
  if (said !== '{"statuses":[201,500],"stored":[{"id":1,"product":"pen"}]}') throw new Error(said);
  console.log('one order committed, one rolled back');
}

import { setTimeout as sleep } from 'node:timers/promises';

/** Counts request scopes by a service that every request creates and its scope must dispose. */
export const counts = { opened: 0, disposed: 0 };

export class Context {
  constructor() {
    counts.opened++;
  }
  async dispose() {
    counts.disposed++;
  }
}

export class Products {
  constructor(context) {
    this.context = context;
  }
  /** Takes as long as a query does. */
  async list() {
    await sleep(Math.random() * 4);
    return [{ product: 'apple' }];
  }
}

/** It uses the connection of its transaction, no matter which code began that. */
export class Orders {
  constructor(connection) {
    this.connection = connection;
  }
  async create({ id, fails }) {
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    if (fails) throw new Error('this order fails');
    await this.connection.query('INSERT INTO items (order_id, product) VALUES ($1, $2)', [id, 'apple']);
    return { stored: id };
  }
}

/** For contestants without transactions: what the documentation of every pool shows. */
export async function inTransaction(pool, work) {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    const result = await work(connection);
    await connection.commit();
    return result;
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

/** Request scopes, told by the one service that every request makes and that its scope must end. */
export const counts = { opened: 0, ended: 0 };

export class Context {
  constructor() {
    counts.opened++;
  }
  async dispose() {
    counts.ended++;
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

/** It works on the connection of its transaction, whoever opened that. */
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

/** For those who bring no transactions: what the documentation of every pool shows. */
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

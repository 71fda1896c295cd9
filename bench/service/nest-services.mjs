import { ConflictException } from '@nestjs/common';
import { v7 } from 'uuid';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class RequestContext {
  userId = undefined;
  constructor(request) {
    this.requestId = request.id;
    this.startTime = new Date();
  }
}

export class AuditLogger {
  constructor(log, context) {
    this.log = log;
    this.context = context;
  }
  record(action, data) {
    const { requestId, userId } = this.context;
    const who = userId === undefined ? { requestId } : { requestId, userId };
    this.log.info({ type: 'audit', action, timestamp: new Date().toISOString(), ...who, ...data });
  }
}

export class UserRepository {
  constructor(database) {
    this.database = database;
  }
  findAll() {
    return this.database.all('users');
  }
  async findById(id) {
    const user = UUID.test(id) && (await this.database.one('user', [id.toLowerCase()]));
    return user ? { id: user.id, name: user.name, email: user.email } : null;
  }
  async create({ name, email }) {
    const user = { id: v7(), name, email };
    await this.database.run('newUser', [user.id, name, email]);
    return user;
  }
}

/** Both work on the connection of a transaction, which they are given. */
export class OrderRepository {
  constructor(context) {
    this.context = context;
  }
  async create(connection, { items }) {
    const order = { id: v7(), items, createdAt: new Date().toISOString() };
    await connection.run('newOrder', [order.id, this.context.requestId, order.createdAt]);
    const rows = items.map((item, position) => ({ position, ...item }));
    await connection.run('newItems', [order.id, JSON.stringify(rows)]);
    return order;
  }
}

export class Inventory {
  constructor(context) {
    this.context = context;
  }
  async reserve(connection, items) {
    const wanted = new Map();
    for (const { productId, quantity } of items) wanted.set(productId, (wanted.get(productId) ?? 0) + quantity);
    const rows = JSON.stringify(Array.from(wanted, ([productId, quantity]) => ({ productId, quantity })));
    const levels = await connection.all('lockStock', [rows]);
    const short = levels.find(({ product_id, level }) => level < wanted.get(product_id));
    if (short) throw new ConflictException(`Not enough stock of ${short.product_id}`);
    if (levels.length > 0) await connection.run('takeStock', [rows]);
    await connection.run('reserve', [this.context.requestId, rows]);
  }
}

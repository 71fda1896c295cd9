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
    await connection.insertOrder(order, this.context.requestId);
    return order;
  }
}

export class Inventory {
  constructor(context) {
    this.context = context;
  }
  reserve(connection, items) {
    return connection.reserve(items, this.context.requestId);
  }
}

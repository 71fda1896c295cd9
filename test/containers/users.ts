// The application that each library has together with Ambit, and that is left after it: its classes know no container.
import { setImmediate } from 'node:timers/promises';

export interface Config {
  readonly url: string;
}

export interface User {
  readonly id: number;
  readonly name: string;
  /** The connection that the request of this user had. */
  readonly connection: number;
}

/** What each stage starts. */
export interface Application {
  createUser(name: string): Promise<User>;
  listUsers(): Promise<readonly User[]>;
  stop(): Promise<void>;
  /** What happened, in its order. */
  readonly log: readonly string[];
}

/** One per application. Its connections are closed asynchronously. */
export class Pool {
  readonly #users: User[] = [];
  readonly #open = new Set<number>();
  readonly #log: string[];
  #connections = 0;

  constructor(config: Config, log: string[]) {
    this.#log = log;
    log.push(`pool opened: ${config.url}`);
  }

  checkOut(): number {
    this.#connections += 1;
    this.#open.add(this.#connections);
    return this.#connections;
  }

  release(connection: number): void {
    if (!this.#open.delete(connection)) throw new Error(`Connection ${connection} is not checked out`);
  }

  async insert(name: string, connection: number): Promise<User> {
    await setImmediate();
    if (!this.#open.has(connection)) throw new Error(`Connection ${connection} is not checked out`);
    const user = { id: this.#users.length + 1, name, connection };
    this.#users.push(user);
    return user;
  }

  async select(connection: number): Promise<readonly User[]> {
    await setImmediate();
    if (!this.#open.has(connection)) throw new Error(`Connection ${connection} is not checked out`);
    return [...this.#users];
  }

  async dispose(): Promise<void> {
    await setImmediate();
    this.#log.push(`pool closed: ${this.#open.size} connections checked out`);
  }
}

/** One per request. */
export class AuditTrail {
  readonly #log: string[];
  readonly #entries: string[] = [];

  constructor(log: string[]) {
    this.#log = log;
  }

  add(entry: string): void {
    this.#entries.push(entry);
  }

  /** Writes what was added until now: what depends on it has to be disposed before. */
  async dispose(): Promise<void> {
    const entries = this.#entries.join(', ');
    await setImmediate();
    this.#log.push(`audit written: ${entries}`);
  }
}

/** One per request: it holds a connection. */
export class UserRepository {
  readonly connection: number;
  readonly #pool: Pool;
  readonly #audit: AuditTrail;

  constructor(pool: Pool, audit: AuditTrail) {
    this.#pool = pool;
    this.#audit = audit;
    this.connection = pool.checkOut();
  }

  insert(name: string): Promise<User> {
    return this.#pool.insert(name, this.connection);
  }

  all(): Promise<readonly User[]> {
    return this.#pool.select(this.connection);
  }

  dispose(): void {
    this.#pool.release(this.connection);
    this.#audit.add(`released ${this.connection}`);
  }
}

/** One per request. */
export class UserService {
  readonly #users: UserRepository;
  readonly #audit: AuditTrail;

  constructor(users: UserRepository, audit: AuditTrail) {
    this.#users = users;
    this.#audit = audit;
  }

  async create(name: string): Promise<User> {
    if (name === '') throw new RangeError('A user needs a name');
    const user = await this.#users.insert(name);
    this.#audit.add(`created ${name}`);
    return user;
  }

  async list(): Promise<readonly User[]> {
    const users = await this.#users.all();
    this.#audit.add('listed');
    return users;
  }
}

export const config: Config = { url: 'postgres://localhost/shop' };

import type { Queryable } from '../database/pool.js';
import { newId, storedId } from '../ids.js';
import type { NewUser, User } from './user.js';

export interface Page {
  readonly limit: number | undefined;
  /** The page begins after the user with this id. */
  readonly after: string | undefined;
}

export interface IUserRepository {
  /**
   * If it is set, a longer list is read in pages of this size, `findAll({ limit, after })`, while it is sent. Otherwise
   * `findAll()` returns the whole list at once.
   */
  readonly pageSize?: number;
  /** Oldest first. */
  findAll(page?: Page): Promise<User[]>;
  findById(id: string): Promise<User | null>;
  create(data: NewUser): Promise<User>;
}

/** A replica may run it. */
const READS = { readOnly: true };
const BEFORE_ALL = '';
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** SQLite reads a page in a few milliseconds, during which the process does nothing else. */
const PAGE_SIZE = 500;

export class UserRepository implements IUserRepository {
  readonly pageSize = PAGE_SIZE;
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  findAll(page?: Page): Promise<User[]> {
    if (!page) return this.#database.query<User>('SELECT id, name, email FROM users ORDER BY id', [], READS);
    const { after = BEFORE_ALL, limit = NO_LIMIT } = page;
    return this.#database.query<User>(
      'SELECT id, name, email FROM users WHERE id > $1 ORDER BY id LIMIT $2',
      [after, limit],
      READS,
    );
  }

  async findById(id: string): Promise<User | null> {
    const stored = storedId(id);
    if (stored === undefined) return null;
    const rows = await this.#database.query<User>(
      'SELECT id, name, email FROM users WHERE id = $1 LIMIT 1',
      [stored],
      READS,
    );
    return rows[0] ?? null;
  }

  async create({ name, email }: NewUser): Promise<User> {
    const user = { id: newId(), name, email };
    await this.#database.query('INSERT INTO users (id, name, email) VALUES ($1, $2, $3)', [user.id, name, email]);
    return user;
  }
}
